"""`openapi_snapshot [--check]`: keep or compare the OpenAPI documents that clients rely on."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from healthsvc.documents import openapi_document

#: Snapshot file by URL configuration.
SNAPSHOTS = {
    "healthsvc.urls": Path("tests/snapshots/openapi.json"),
    "healthsvc.management_urls": Path("tests/snapshots/openapi-management.json"),
}


class Command(BaseCommand):
    """Write the documents, or say how to when they differ from what is kept."""

    help = "Write the OpenAPI documents to tests/snapshots, or with --check fail where they differ."

    def add_arguments(self, parser: CommandParser) -> None:
        """`--check`."""
        parser.add_argument("--check", action="store_true", help="compare only")

    def handle(self, *args: Any, **options: Any) -> None:
        """Compare or write both."""
        for urlconf, relative in SNAPSHOTS.items():
            path = Path(settings.BASE_DIR) / relative
            made = openapi_document(urlconf) + b"\n"
            if not options["check"]:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(made)
            elif not path.exists() or path.read_bytes() != made:
                raise CommandError(f"{relative} differs: run `manage.py openapi_snapshot` and read the change.")
        self.stdout.write("OpenAPI snapshots are as kept." if options["check"] else "OpenAPI snapshots written.")
