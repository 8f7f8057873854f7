"""Removing pulls that nobody asks about any more: what is read of them is each resource's last ones."""

from datetime import timedelta
from uuid import UUID

from django.db.models import QuerySet

from healthsvc.kernel import clock
from healthsvc.kernel.scope import SystemScope, system_scope
from links.constants import PULLS_KEPT_DAYS, PULLS_OF_ENDED_KEPT_SECONDS
from links.models import Pull
from links.services.purging import rows_purge
from links.states import PULL_OPEN, PullStatus


def pulls_forget(pull: Pull) -> int:
    """Remove what the end of a pull makes old: of its resource and kind what ended days ago; how many those were.

    The last one stays, and the good one that reaches furthest, of either kind: it says what was fetched.
    """
    same = Pull.objects.filter(connection_id=pull.connection_id, resource=pull.resource)
    ended = same.filter(kind=pull.kind).exclude(status__in=PULL_OPEN)
    kept = [_first(ended.order_by("-created_at", "-id")), _first(_furthest(same))]
    before = clock.now() - timedelta(days=PULLS_KEPT_DAYS)
    return ended.filter(ended_at__lt=before).exclude(pk__in=[pk for pk in kept if pk]).delete()[0]


def pulls_purge() -> int:
    """Remove the pulls of connections that ended long ago; how many those were."""
    before = clock.now() - timedelta(seconds=PULLS_OF_ENDED_KEPT_SECONDS)
    with system_scope(SystemScope.DELIVERY):
        return rows_purge(Pull.objects.filter(connection__disconnected_at__lt=before))


def _furthest(rows: QuerySet[Pull]) -> QuerySet[Pull]:
    """In the order in which what was fetched is judged by (`connection_selectors.coverage_of`)."""
    return rows.filter(status=PullStatus.SUCCESS).order_by("-end_on", "-ended_at")


def _first(rows: QuerySet[Pull]) -> UUID | None:
    return rows.values_list("pk", flat=True).first()
