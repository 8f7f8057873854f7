"""The events of this app itself."""

from typing import Final

from webhooks.registry import EventType

MESSAGE_ATTEMPT_EXHAUSTED: Final = "message.attempt.exhausted"
WEBHOOK_TEST: Final = "webhook.test"

EVENT_TYPES: Final = (
    EventType(
        MESSAGE_ATTEMPT_EXHAUSTED,
        "Every attempt to deliver a message to an endpoint has failed; it is not tried again by itself.",
        {
            "message_id": "msg_01934c7e-8f6a-7c31-9a55-3f0c5b0d8a11",
            "event_type": "daily.data.sleep.created",
            "endpoint_id": "01934c7e-2b1d-7d04-8a7e-51d2f9b7c6aa",
            "attempts": 8,
            "last_attempt": {"attempted_at": "2026-11-21T08:00:00+00:00", "status_code": 500, "error": None},
        },
    ),
    EventType(
        WEBHOOK_TEST,
        "Sent to one endpoint when its owner asks for a test, whatever its filter is.",
        {"endpoint_id": "01934c7e-2b1d-7d04-8a7e-51d2f9b7c6aa", "message": "This is a test."},
    ),
)
