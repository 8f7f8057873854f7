"""`docs_generate [--check]`: write or compare the pages of `docs/` that the code dictates."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from healthsvc import reference_docs


class Command(BaseCommand):
    """Write the pages, or say which are stale."""

    help = "Write the generated pages of docs/, or with --check fail where one is stale."

    def add_arguments(self, parser: CommandParser) -> None:
        """`--check`."""
        parser.add_argument("--check", action="store_true", help="compare only")

    def handle(self, *args: Any, **options: Any) -> None:
        """Compare or write."""
        if not options["check"]:
            reference_docs.pages_write()
            self.stdout.write("Pages written.")
            return
        stale = reference_docs.pages_that_differ()
        if stale:
            raise CommandError(f"Stale: {', '.join(stale)}. Run `manage.py docs_generate`.")
        self.stdout.write("Generated pages are as the code says.")
