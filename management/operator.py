"""What operator commands share: `--json`, and errors as sentences."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import orjson
from django.core.management.base import BaseCommand, CommandError, CommandParser

from healthsvc.kernel import clock
from healthsvc.kernel.errors import ServiceError
from healthsvc.kernel.ids import uuid_parse


class OperatorCommand(BaseCommand):
    """A command that answers a dictionary, as lines for people or as one JSON object."""

    def add_arguments(self, parser: CommandParser) -> None:
        """Every operator command has `--json`."""
        parser.add_argument("--json", action="store_true", help="answer one JSON object")
        self.declare(parser)

    def declare(self, parser: CommandParser) -> None:
        """The command's own arguments."""

    def run(self, options: dict[str, Any]) -> dict[str, Any]:
        """Do it; what comes back is printed."""
        raise CommandError("This command does nothing.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run and print; a refusal becomes a sentence and exit code 1."""
        try:
            answer = self.run(options)
        except ServiceError as error:
            raise CommandError(refusal_sentence(error)) from error
        if options["json"]:
            self.stdout.write(orjson.dumps(answer, default=str).decode())
            return
        for name, value in answer.items():
            if isinstance(value, list):
                if value:
                    self.stdout.write("  ".join(value[0]))
                for row in value:
                    self.stdout.write("  ".join(str(cell) if cell is not None else "-" for cell in row.values()))
            else:
                self.stdout.write(f"{name}: {value}")


def uuid_argument(text: str) -> UUID:
    """An argument that must be a UUID."""
    parsed = uuid_parse(text)
    if parsed is None:
        raise CommandError("Not a UUID.")
    return parsed


def end_of_day_argument(text: str | None) -> datetime | None:
    """The last second, in UTC, of a day given as YYYY-MM-DD, which must not be over; None for no argument."""
    if text is None:
        return None
    try:
        day = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise CommandError("Not a day as YYYY-MM-DD.") from None
    end = day.replace(hour=23, minute=59, second=59)
    if end <= clock.now():
        raise CommandError("This day is over.")
    return end


def refusal_sentence(error: ServiceError) -> str:
    """What a refusal tells a person."""
    if isinstance(error.detail, list):
        return "; ".join(str(item["msg"]) for item in error.detail if isinstance(item, dict))
    return str(error.detail)
