"""`key_revoke KEY_ID`: end a key at once."""

from typing import Any

from django.core.management.base import CommandParser

from management import services
from management.operator import OperatorCommand, uuid_argument


class Command(OperatorCommand):
    """Revoke a key."""

    help = "Revoke a team or management key by the id that key_list shows; the next request with it is refused."

    def declare(self, parser: CommandParser) -> None:
        """The key."""
        parser.add_argument("key_id")

    def run(self, options: dict[str, Any]) -> dict[str, Any]:
        """What was revoked."""
        key_id = uuid_argument(options["key_id"])
        services.key_revoke(key_id=key_id)
        return {"key_id": key_id, "revoked": True}
