#!/usr/bin/env python
"""Runs Django's management commands for this project."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "healthsvc.settings")
    from django.core.management import execute_from_command_line

    from healthsvc.env import EnvError

    try:
        execute_from_command_line(sys.argv)
    except EnvError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
