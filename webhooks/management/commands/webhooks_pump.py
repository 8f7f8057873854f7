"""`webhooks_pump`: deliver webhooks without a broker, beside or instead of the workers."""

import time
from typing import Any

import structlog
from django.core.management.base import BaseCommand, CommandParser
from django.db import InterfaceError, OperationalError, connection

from webhooks.pump import PumpOptions, pump_run

log = structlog.get_logger(__name__)

#: Between looks at the database when nothing is owed.
_REST_SECONDS = 0.2
#: After the database could not be reached.
_OUTAGE_REST_SECONDS = 2.0


class Command(BaseCommand):
    """Fan out and deliver until stopped."""

    help = "Fan out events and deliver them, needing the database only; any number may run. Ctrl-C ends it."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whether to stay."""
        parser.add_argument("--once", action="store_true", help="end when nothing is owed now")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run pumps one after another; an outage of the database is waited out."""
        if options["once"]:
            report = pump_run(PumpOptions(idle_seconds=0))
            self.stdout.write(f"{report.attempted} attempts, {report.delivered} delivered")
            return
        self.stdout.write("Delivering webhooks; Ctrl-C ends it.")
        try:
            while True:
                self._run()
        except KeyboardInterrupt:
            self.stdout.write("Stopped; what was in flight is sent again when its lease runs out.")

    def _run(self) -> None:
        try:
            pump_run()
        except (OperationalError, InterfaceError) as error:
            log.warning("database_unreachable", error=type(error).__name__)
            connection.close()
            time.sleep(_OUTAGE_REST_SECONDS)
        else:
            time.sleep(_REST_SECONDS)
