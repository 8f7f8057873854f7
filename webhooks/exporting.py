"""What is kept here of a person, for the archive of everything about them: what was told of them, to whom, and how."""

from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet

from healthsvc.kernel.exporting import own_rows, table_part
from healthsvc.kernel.principal import TeamContext
from users.registry import Exporter
from webhooks.models import Attempt, Delivery, Event

#: Payloads may be as large as what receivers take.
_PAYLOADS_AT_ONCE: Final = 50


def _deliveries(team: TeamContext, user_id: UUID) -> QuerySet[Any]:
    return Delivery.objects.for_team(team).filter(event__user_id=user_id)


def _attempts(team: TeamContext, user_id: UUID) -> QuerySet[Any]:
    return Attempt.objects.for_team(team).filter(delivery__event__user_id=user_id)


EXPORTER: Final = Exporter(
    parts=(
        table_part("webhooks.events", Event, own_rows(Event), opened=["body"], page_rows=_PAYLOADS_AT_ONCE),
        table_part("webhooks.deliveries", Delivery, _deliveries),
        table_part("webhooks.attempts", Attempt, _attempts, opened=["answer_excerpt"]),
    ),
    left_out={},
)
