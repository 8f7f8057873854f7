"""Pushes for tests: the client's side of `POST /v2/user/{user_id}/data`."""

from typing import TYPE_CHECKING, Any

from tests.clients import ApiClient
from users.models import User

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse as Answer

Body = dict[str, Any]
WATCH = {"type": "watch", "app_id": "com.example", "device_id": "w-1"}


def body_of(timeseries: dict[str, Any] | None = None, summaries: dict[str, Any] | None = None, **more: Any) -> Body:
    """A push for `manual`."""
    body: Body = {"provider": "manual", "source": WATCH, **more}
    if timeseries is not None:
        body["timeseries"] = timeseries
    if summaries is not None:
        body["summaries"] = summaries
    return body


def push(api: ApiClient, user: User, body: Body) -> "Answer":
    """The answer to a push."""
    return api.post(f"/v2/user/{user.id}/data", body)


def receipt_of(api: ApiClient, user: User, body: Body) -> Body:
    """The receipt of a push that must be taken."""
    answer = push(api, user, body)
    assert answer.status_code == 200, answer.content
    receipt: Body = answer.json()
    return receipt


def counts(created: int = 0, changed: int = 0, unchanged: int = 0, refused: int = 0) -> dict[str, int]:
    """The counts of one list."""
    return {"created": created, "changed": changed, "unchanged": unchanged, "refused": refused}


def heartbeat(at: str, value: float = 60.0, **more: Any) -> Body:
    """A heart rate."""
    return {"timestamp": at, "value": value, **more}
