"""Erasing a user: what the outbox and the log hold of a person goes, and what was not sent yet is never sent."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from django.db import connection, transaction

from healthsvc.kernel import clock
from healthsvc.kernel.principal import TeamContext
from webhooks import walker
from webhooks.constants import ERASE_ROWS
from webhooks.models import Attempt, Delivery, Event

TABLES: Final = frozenset(model._meta.db_table for model in (Event, Delivery, Attempt))
#: Whoever would fan it out later finds nothing to fan out.
_EVENTS_ERASE: Final = """
UPDATE webhooks_event
   SET body = NULL, user_id = NULL, channels = array_remove(channels, %s), fanned_out_at = coalesce(fanned_out_at, %s)
 WHERE id = ANY (%s)
"""


def user_portion_erase(team: TeamContext, user_id: UUID) -> Mapping[str, int]:
    """Erase some payloads of a user and what receivers answered to them; how many rows, by table; nothing where none
    is left.

    Messages stay in the log as a type, a time and how their deliveries went; nothing in them leads to the person.
    What is still owed is cancelled. Runs in the purge scope. A request that a pump has in memory at that moment may
    still arrive.
    """
    events = Event.objects.for_team(team).filter(user_id=user_id)
    # Holds events before their deliveries, as everyone does.
    with transaction.atomic():
        ids = list(events.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True)[:ERASE_ROWS])
        if not ids:
            return {}
        with connection.cursor() as cursor:
            cursor.execute(_EVENTS_ERASE, [f"user.{user_id}", clock.now(), ids])
        deliveries = Delivery.objects.filter(event_id__in=ids)
        cancelled = walker.deliveries_cancel(deliveries)
        answers = Attempt.objects.filter(delivery__in=deliveries).exclude(answer_excerpt=None)
        return {
            Event._meta.db_table: len(ids),
            Delivery._meta.db_table: cancelled,
            Attempt._meta.db_table: answers.update(answer_excerpt=None),
        }
