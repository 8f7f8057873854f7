"""Reads of connections over time: what was fetched from each, and what is missing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Final
from uuid import UUID

from healthsvc.kernel import clock
from healthsvc.kernel.principal import TeamContext
from links.connectors.failures import REFUSALS
from links.constants import INGESTION_CATCH_UP_DAYS, REFRESH_DAYS, RESOURCE_REST_SECONDS, PullKind
from links.models import Connection, Pull
from links.states import PullStatus
from users.models import User

#: What opens an account: left in the database where it is not needed.
SECRET_FIELDS: Final = ("access_token", "refresh_token", "credentials")

_ENDED: Final = (PullStatus.SUCCESS, PullStatus.FAILURE)
_BY_RESOURCE: Final = ("connection_id", "resource")


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was fetched of one resource of one connection.

    `refreshed_until_on`: nothing after it can be relied upon. `complete_until_on`: nothing before it is missing, which
    is earlier where the last backfill was given up; None where there never was a good pull or a backfill.
    """

    refreshed_until_on: date | None = None
    complete_until_on: date | None = None
    backfill_ended_at: datetime | None = None
    #: Backfills that were given up in a row, up to the last one that ended.
    backfills_given_up: int = 0


def coverage_of(connections: Sequence[Connection]) -> Mapping[tuple[UUID, str], Coverage]:
    """By connection and resource, where a pull of it has ended. Two queries."""
    ids = [connection.pk for connection in connections]
    found: dict[tuple[UUID, str], Coverage] = {}
    good = Pull.objects.filter(connection__in=ids, status=PullStatus.SUCCESS)
    newest = good.order_by(*_BY_RESOURCE, "-end_on", "-ended_at").distinct(*_BY_RESOURCE)
    for connection_id, resource, end_on, ended_at in newest.values_list(*_BY_RESOURCE, "end_on", "ended_at"):
        until = settled_until(end_on, ended_at)
        found[connection_id, resource] = Coverage(until, until)
    backfills = Pull.objects.filter(connection__in=ids, kind=PullKind.BACKFILL, status__in=_ENDED)
    last = backfills.order_by(*_BY_RESOURCE, "-created_at", "-id").distinct(*_BY_RESOURCE)
    for pull in last:
        key = (pull.connection_id, pull.resource)
        one = replace(found.get(key, Coverage()), backfill_ended_at=pull.ended_at)
        if pull.status == PullStatus.FAILURE:
            one = replace(one, complete_until_on=_stopped_on(pull), backfills_given_up=pull.given_up_before + 1)
        found[key] = one
    return found


def resources_resting(connection: Connection) -> set[str]:
    """Resources that the provider refused since the last login and within a day. One query."""
    since = clock.now() - timedelta(seconds=RESOURCE_REST_SECONDS)
    ended = Pull.objects.filter(connection=connection, status__in=_ENDED)
    ended = ended.filter(ended_at__gt=max(since, connection.connected_at))
    newest = ended.order_by("resource", "-ended_at").distinct("resource")
    return {resource for resource, error_code in newest.values_list("resource", "error_code") if error_code in REFUSALS}


def was_ever_connected(team: TeamContext, user_id: UUID, provider: str) -> bool:
    """Whether a user had a connection to a provider at any time."""
    return Connection.objects.for_team(team).filter(user_id=user_id, provider=provider).exists()


def settled_until(end_on: date, ended_at: datetime | None) -> date:
    """The day up to which a good pull's data were final: providers revise what they told of the last days."""
    return end_on if ended_at is None else min(end_on, ended_at.date() - timedelta(days=REFRESH_DAYS))


def ingestion_over(user: User, today: date) -> bool:
    """Whether a user's data are wanted no more, and the days in which late ones may come are over too."""
    end_on = user.ingestion_end_on
    return end_on is not None and today > end_on + timedelta(days=INGESTION_CATCH_UP_DAYS)


def _stopped_on(pull: Pull) -> date:
    if pull.done_until_on is None:
        return pull.start_on
    return settled_until(pull.done_until_on, pull.ended_at)
