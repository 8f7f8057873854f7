"""The form of an endpoint: what was typed, what it means, and the words beside each mistake.

What may stand in a field is decided by the API's own shapes and by the service, so that both doors refuse the same.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.http import QueryDict

from healthsvc.kernel.errors import ErrorCode, ServiceError
from healthsvc.kernel.problems import from_serializer_errors
from webhooks.models import Endpoint
from webhooks.portal.choosing import Tree, choice_clean, search_clean, tree_of
from webhooks.serializers import WebhookCreateBody

FIELDS: Final = ("url", "description", "filter_types", "channels", "rate_limit")
_CHANNEL_ENDS: Final = re.compile(r"[\s,;]+")


@dataclass(frozen=True, slots=True)
class EndpointForm:
    """The fields as text, and the mistakes in them by field; `form` for those of no field."""

    url: str = ""
    description: str = ""
    everything: bool = True
    types: tuple[str, ...] = ()
    channels: str = ""
    rate_limit: str = ""
    enabled: bool = True
    search: str = ""
    errors: Mapping[str, str] = field(default_factory=dict)

    @property
    def tree(self) -> Tree:
        """The choice of event types."""
        return tree_of(self.types, search_clean(self.search))

    def values(self) -> dict[str, Any]:
        """What the fields mean, as the API's body has it, not yet checked."""
        channels = [text for text in _CHANNEL_ENDS.split(self.channels) if text]
        limit = self.rate_limit.strip()
        return {
            "url": self.url,
            "description": self.description,
            "filter_types": None if self.everything else choice_clean(self.types),
            "channels": list(dict.fromkeys(channels)) or None,
            "rate_limit": int(limit) if limit.isdecimal() and len(limit) <= 9 else limit or None,
            "disabled": not self.enabled,
        }

    def checked(self) -> tuple[dict[str, Any], dict[str, str]]:
        """The values, and what is wrong with their form."""
        body = WebhookCreateBody(data=self.values())
        errors: dict[str, str] = {}
        if not body.is_valid():
            for problem in from_serializer_errors(body.errors, ("body",), body):
                errors.setdefault(_field_of(problem.loc), problem.msg)
            if not self.url.strip():
                errors["url"] = "Type the address that events are sent to."
        if not self.everything and not choice_clean(self.types):
            errors["filter_types"] = "Tick at least one event type, or choose all events."
        return (dict(body.validated_data) if not errors else {}), errors


def form_read(sent: QueryDict) -> EndpointForm:
    """The form as it was sent."""
    return EndpointForm(
        url=sent.get("url", "").strip(),
        description=sent.get("description", ""),
        everything=sent.get("events", "all") != "some",
        types=tuple(choice_clean([*sent.getlist("type")])),
        channels=sent.get("channels", ""),
        rate_limit=sent.get("rate_limit", ""),
        enabled="enabled" in sent,
        search=sent.get("search", ""),
    )


def form_of(endpoint: Endpoint, search: str) -> EndpointForm:
    """An endpoint as it stands."""
    return EndpointForm(
        url=endpoint.url,
        description=endpoint.description,
        everything=endpoint.filter_types is None,
        types=tuple(endpoint.filter_types or ()),
        channels="\n".join(endpoint.channels or ()),
        rate_limit=str(endpoint.rate_limit or ""),
        enabled=not endpoint.disabled,
        search=search,
    )


def is_search(sent: QueryDict) -> bool:
    """Whether the list of event types is to be searched, not the form saved: by its button, or by Enter in its field,
    which browsers take for the form's first button."""
    if "save" in sent:
        return False
    return "find" in sent or sent.get("search", "") != sent.get("searched", "")


def errors_of(refusal: ServiceError) -> dict[str, str]:
    """A service's refusal by the fields of a form."""
    if refusal.code is not ErrorCode.VALIDATION_FAILED or not isinstance(refusal.detail, list):
        return {"form": refusal.detail if isinstance(refusal.detail, str) else refusal.code.meaning}
    found: dict[str, str] = {}
    for item in refusal.detail:
        if isinstance(item, Mapping) and isinstance(item.get("loc"), list):
            found.setdefault(_field_of(item["loc"]), str(item.get("msg", "")))
    return found


def _field_of(loc: Any) -> str:
    name = str(loc[1]) if len(loc) > 1 else "form"
    return name if name in FIELDS else "form"
