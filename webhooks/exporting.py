"""What is kept here of a person, for the archive of everything about them: what was told of them, to whom, and how."""

from typing import Any, Final
from uuid import UUID

import orjson
from django.db.models import QuerySet

from healthsvc.kernel.exporting import UnreadableError, internal, own_rows, table_part
from healthsvc.kernel.principal import TeamContext
from users.registry import Exporter
from webhooks.models import Attempt, Delivery, Event

#: Payloads may be as large as what receivers take.
_PAYLOADS_AT_ONCE: Final = 50


def _deliveries(team: TeamContext, user_id: UUID) -> QuerySet[Any]:
    return Delivery.objects.for_team(team).filter(event__user_id=user_id)


def _attempts(team: TeamContext, user_id: UUID) -> QuerySet[Any]:
    return Attempt.objects.for_team(team).filter(delivery__event__user_id=user_id)


def _event(_user_id: UUID, record: dict[str, Any]) -> dict[str, Any]:
    """With the body as JSON: it is kept as the text that was sent. UnreadableError where it is none."""
    try:
        return {**record, "body": None if record["body"] is None else orjson.loads(record["body"])}
    except orjson.JSONDecodeError as error:
        raise UnreadableError from error


EXPORTER: Final = Exporter(
    parts=(
        table_part(
            "webhooks.events",
            Event,
            own_rows(Event),
            opened=["body"],
            left_out=internal("fanned_out_at"),
            page_rows=_PAYLOADS_AT_ONCE,
            shown=_event,
            about="What the service told its customer of you, each with the body that was sent, while it is kept.",
        ),
        table_part(
            "webhooks.deliveries",
            Delivery,
            _deliveries,
            left_out=internal("claims"),
            about="To which address of the customer (endpoint_id) each event went, and whether it arrived.",
        ),
        table_part(
            "webhooks.attempts",
            Attempt,
            _attempts,
            opened=["answer_excerpt"],
            about="Each try of a delivery, how long it took, and what was answered.",
        ),
    ),
    left_out={},
)
