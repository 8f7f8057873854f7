"""Runs a command with the environment of the tree that `make run` keeps on this data folder.

`python -m healthsvc.runtime.attach -- python manage.py team_create …`
"""

import json
import os
import sys
from pathlib import Path
from typing import NoReturn

from healthsvc.env import env_path
from healthsvc.runtime.up import CONNECTION_FILE


def main(arguments: list[str]) -> NoReturn:
    """Replace this process by the command; exit with 1 and a message when nothing runs or no command is given."""
    command = arguments[1:] if arguments[:1] == ["--"] else arguments
    if not command:
        sys.exit("usage: python -m healthsvc.runtime.attach -- COMMAND …")
    project = Path(__file__).resolve().parents[2]
    path = env_path("HEALTHSVC_DATA_DIR", project / "var") / CONNECTION_FILE
    if not path.exists():
        sys.exit(f"Nothing runs on {path.parent}: start it with `make run`.")
    environment = {**os.environ, **json.loads(path.read_text(encoding="utf-8"))}
    os.execvpe(command[0], command, environment)  # noqa: S606 - becoming the command is the point


if __name__ == "__main__":
    main(sys.argv[1:])
