"""`webhooks_pump`: deliver webhooks without a broker, beside or instead of the workers."""

import time
from typing import Any

import structlog
from django.core.management.base import BaseCommand, CommandParser
from django.db import InterfaceError, OperationalError, connection

from healthsvc.kernel.scope import SystemScope, system_scope
from webhooks import selectors
from webhooks.pump import PumpOptions, PumpReport, pump_run

log = structlog.get_logger(__name__)

#: Between looks at the database when nothing is owed.
_REST_SECONDS = 0.2
#: With `--once`: so many pumps in a row that could take nothing of what is due end it.
_IN_VAIN_MAXIMUM = 3
#: After the database could not be reached.
_OUTAGE_REST_SECONDS = 2.0


class Command(BaseCommand):
    """Fan out and deliver until stopped."""

    help = "Fan out events and deliver them, needing the database only; any number may run. Ctrl-C ends it."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whether to stay."""
        parser.add_argument(
            "--once", action="store_true", help="end when nothing is due now; what waits for a later attempt stays"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Run pumps one after another; an outage of the database is waited out."""
        if options["once"]:
            self._run_once()
            return
        self.stdout.write("Delivering webhooks; Ctrl-C ends it.")
        try:
            while True:
                self._run()
        except KeyboardInterrupt:
            self.stdout.write("Stopped; what was in flight is sent again when its lease runs out.")

    def _run_once(self) -> None:
        """A pump takes up nothing new after a while, so as many as it takes; an outage of the database ends it.

        The last one looks on for as long as any pump: events whose wake-up was for what it took have none of their own.
        """
        reports: list[PumpReport] = []
        in_vain = 0
        while in_vain < _IN_VAIN_MAXIMUM:
            report = pump_run(PumpOptions(idle_seconds=0))
            reports.append(report)
            with system_scope(SystemScope.DELIVERY):
                if not selectors.is_anything_owed():
                    break
            in_vain = 0 if report.attempted or report.fanned_out else in_vain + 1
            if in_vain:
                time.sleep(_REST_SECONDS)  # what is due is held by somebody, or by its endpoint's pause or limit
        if any(report.attempted or report.fanned_out for report in reports):
            reports.append(pump_run(PumpOptions()))
        attempted = sum(report.attempted for report in reports)
        delivered = sum(report.delivered for report in reports)
        self.stdout.write(f"{attempted} attempts, {delivered} delivered")

    def _run(self) -> None:
        try:
            pump_run()
        except (OperationalError, InterfaceError) as error:
            log.warning("database_unreachable", error=type(error).__name__)
            connection.close()
            time.sleep(_OUTAGE_REST_SECONDS)
        else:
            time.sleep(_REST_SECONDS)
