"""A message's payload as a page shows it: pretty, cut where it is very long, and in words where it is gone."""

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.conf import settings

from healthsvc.kernel import clock
from webhooks.log_selectors import MessageShown
from webhooks.portal.frame import PortalVisit
from webhooks.portal.wording import count_text

#: A longer payload is shown whole only when it is asked for: the longest have nearly a million characters.
_SHOWN_CHARACTERS: Final = 20_000


@dataclass(frozen=True, slots=True)
class PayloadShown:
    """The text, or why there is none. `whole_url` leads to all of it where it was cut."""

    text: str = ""
    gone: str = ""
    whole_url: str = ""
    characters: str = ""


def payload_shown(visit: PortalVisit, message: MessageShown) -> PayloadShown:
    """What a page shows of a payload."""
    if message.payload is None:
        return PayloadShown(gone=_gone(message))
    text = pretty(message.payload)
    if len(text) <= _SHOWN_CHARACTERS or "whole" in visit.request.GET:
        return PayloadShown(text)
    return PayloadShown(text[:_SHOWN_CHARACTERS], "", f"{visit.request.path}?whole=1", count_text(len(text)))


def pretty(value: object) -> str:
    """JSON for people."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def _gone(message: MessageShown) -> str:
    days: int = settings.WEBHOOK_RETENTION_DAYS
    if message.message.created_at < clock.now() - timedelta(days=days):
        return f"The payload is older than {days} days and was removed. The message can't be sent again."
    return "The payload was erased together with its user's data. The message can't be sent again."
