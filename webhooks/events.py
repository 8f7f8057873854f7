"""The events of this app itself."""

from typing import Final

from healthsvc.kernel.http import OutboundFailure
from healthsvc.kernel.typing import JSONObject, JSONValue
from webhooks.constants import DISABLED_FAILING, DISABLED_GONE
from webhooks.registry import EventType

MESSAGE_ATTEMPT_EXHAUSTED: Final = "message.attempt.exhausted"
WEBHOOK_ENDPOINT_DISABLED: Final = "webhook.endpoint.disabled"
WEBHOOK_ENDPOINT_FAILING: Final = "webhook.endpoint.failing"
WEBHOOK_TEST: Final = "webhook.test"

#: Of examples.
_ENDPOINT_ID: Final = "01934c7e-3c40-7b12-9f05-6ad8e1c2b437"
_UUID: Final[JSONObject] = {"type": "string", "format": "uuid"}


def closed_object(**properties: JSONValue) -> JSONObject:
    """The schema of an object that has these properties, all of them and no others."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


EVENT_TYPES: Final = (
    EventType(
        MESSAGE_ATTEMPT_EXHAUSTED,
        "Every attempt to deliver a message to an endpoint has failed; it is not tried again by itself.",
        {
            "message_id": "msg_01934c7e-8f6a-7c31-9a55-3f0c5b0d8a11",
            "event_type": "daily.data.sleep.created",
            "endpoint_id": _ENDPOINT_ID,
            "attempts": 8,
            "last_attempt": {"attempted_at": "2026-11-21T08:00:00+00:00", "status_code": 500, "error": None},
        },
        closed_object(
            message_id={"type": "string", "pattern": "^msg_", "description": "The message that was given up."},
            event_type={"type": "string", "description": "What it told of."},
            endpoint_id=_UUID,
            attempts={"type": "integer", "minimum": 1, "description": "How many failed."},
            last_attempt=closed_object(
                attempted_at={"type": "string", "format": "date-time"},
                status_code={"type": ["integer", "null"], "description": "Null where there was no answer."},
                error={
                    "description": "Why there was no answer; null where there was one.",
                    "enum": [*OutboundFailure, None],
                },
            ),
        ),
    ),
    EventType(
        WEBHOOK_ENDPOINT_DISABLED,
        "An endpoint was disabled because it failed for five days, or because it answered 410; what it was owed is "
        "cancelled. Goes to the team's other endpoints.",
        {
            "endpoint_id": _ENDPOINT_ID,
            "url": "https://example.com/hooks",
            "reason": "failing",
            "disabled_at": "2026-11-21T08:00:00+00:00",
            "failing_since": "2026-11-16T07:30:00+00:00",
        },
        closed_object(
            endpoint_id=_UUID,
            url={"type": "string", "description": "Without its query."},
            reason={"type": "string", "enum": [DISABLED_FAILING, DISABLED_GONE]},
            disabled_at={"type": "string", "format": "date-time"},
            failing_since={
                "type": ["string", "null"],
                "format": "date-time",
                "description": "Since when every attempt failed; null for one that is gone.",
            },
        ),
    ),
    EventType(
        WEBHOOK_ENDPOINT_FAILING,
        "Every attempt at an endpoint has failed for twelve hours or longer. It is disabled if that goes on for five "
        "days. Goes to the team's other endpoints.",
        {
            "endpoint_id": _ENDPOINT_ID,
            "failing_since": "2026-11-16T07:30:00+00:00",
            "disabled_after": "2026-11-21T07:30:00+00:00",
        },
        closed_object(
            endpoint_id=_UUID,
            failing_since={"type": "string", "format": "date-time"},
            disabled_after={
                "type": "string",
                "format": "date-time",
                "description": "A failure after this disables the endpoint; a success before it ends the count.",
            },
        ),
    ),
    EventType(
        WEBHOOK_TEST,
        "Sent to one endpoint when its owner asks for a test, whatever its filter is.",
        {"endpoint_id": _ENDPOINT_ID, "message": "This is a test."},
        closed_object(endpoint_id=_UUID, message={"type": "string", "description": "For people."}),
    ),
)
