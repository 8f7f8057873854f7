"""`erasure_key`: the public key of erasure receipts, and whether a receipt is about a user somebody names."""

from base64 import b64encode
from typing import Any

from django.core.management.base import CommandParser

from management.operator import OperatorCommand, uuid_argument
from users.receipts import ALGORITHM, public_key, user_hash


class Command(OperatorCommand):
    """What whoever holds a receipt asks the operator for."""

    help = "Print the public key of erasure receipts; with --user, how a receipt names that user."

    def declare(self, parser: CommandParser) -> None:
        """Whose hash is wanted."""
        parser.add_argument("--user", metavar="ID", help="a user_id: its user_hash too")

    def run(self, options: dict[str, Any]) -> dict[str, Any]:
        """The key as receipts have it: Base64."""
        key = {"algorithm": ALGORITHM, "public_key": b64encode(public_key()).decode()}
        named = {"user_hash": user_hash(uuid_argument(options["user"]))} if options["user"] else {}
        return {**key, **named}
