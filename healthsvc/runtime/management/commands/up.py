"""`manage.py up`: run everything in the foreground."""

import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import get_commands
from django.core.management.base import BaseCommand

from healthsvc.runtime.up import run


class Command(BaseCommand):
    """A door to `healthsvc.runtime.up.run`."""

    help = "Run the whole service in the foreground: embedded servers, both addresses, worker, beat, simulator."
    # The secrets and the database that the checks look at are made by this command.
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        """Exit with what the tree returned."""
        sys.exit(run(Path(settings.BASE_DIR), commands=get_commands().keys(), key_header=settings.TEAM_KEY_HEADERS[0]))
