"""What a page says after a form was taken: the address names one of these, so that nobody can put words there."""

from collections.abc import Mapping
from typing import Final

TOLD: Final[Mapping[str, str]] = {
    "created": "The endpoint is ready. Send it an event to see that it arrives.",
    "saved": "Your changes are saved.",
    "deleted": "The endpoint is deleted. Nothing is sent to it any more.",
    "enabled": "The endpoint is enabled again.",
    "headers": "The headers are saved.",
    "rotated": "The secret is replaced.",
    "sent": "The event is on its way. Its attempt is listed here once it is done.",
    "resent": "The message is on its way again. Its attempt is listed here once it is done.",
    "repair_running": "This repair was running already; this is how far it is.",
}
