"""Reads of the audit trail: pages by cursor, newest first, for any filters together."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet

from healthsvc.kernel.ids import uuid_floor
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import TeamQuerySet
from healthsvc.kernel.scope import team_scope
from management.constants import PAGE_SIZE
from management.models import AccessNamed, AccessRecord, AccessSeal, OrganisationRecord

#: Records that a page looks at where a filter has no index of its own; then the page ends, however few it found.
LOOKED_AT_MAXIMUM: Final = 5_000
EXPORT_PAGE: Final = 1_000
#: An id may be made so long before or after its record's `occurred_at`.
_SLACK: Final = timedelta(minutes=1)
#: Filters without an index, which are held against the records that the others find.
_LOOSE: Final = ("actor_kind", "action", "address", "status_code")


@dataclass(frozen=True, slots=True)
class AccessFilters:
    """Which records are wanted; those that are None are not asked for. `after` is included, `before` is not."""

    user_id: UUID | None = None
    actor_kind: str | None = None
    actor_id: str | None = None
    action: str | None = None
    request_id: str | None = None
    address: str | None = None
    status_code: int | None = None
    after: datetime | None = None
    before: datetime | None = None

    def equal(self) -> dict[str, object]:
        """The filters that ask for a value, by column."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in named.items() if value is not None and name not in ("after", "before")}


@dataclass(frozen=True, slots=True)
class AccessPage:
    """Records of one page, newest first. A page may hold few or none and still have a next one."""

    records: list[AccessRecord]
    next_cursor: UUID | None


def access_page(
    team: TeamContext, *, filters: AccessFilters = AccessFilters(), cursor: UUID | None = None, limit: int
) -> AccessPage:
    """One page of a team's trail. One query; one more where a filter has no index, or is a user."""
    if filters.user_id is not None:
        return _user_page(team, filters.user_id, filters, cursor, limit)
    wanted = filters.equal()
    loose = {name: wanted.pop(name) for name in _LOOSE if name in wanted}
    rows = _in_time(AccessRecord.objects.for_team(team).filter(**wanted), filters).order_by("-pk")
    if cursor is not None:
        rows = rows.filter(pk__lt=cursor)
    edge = None
    if loose:
        edge = rows.values_list("pk", flat=True)[LOOKED_AT_MAXIMUM - 1 : LOOKED_AT_MAXIMUM].first()
        rows = rows.filter(**loose, **({} if edge is None else {"pk__gte": edge}))
    found = list(rows[: limit + 1])
    if len(found) > limit:
        return AccessPage(found[:limit], found[limit - 1].pk)
    return AccessPage(found, edge)


def user_record_ids(team: TeamContext, user_id: UUID) -> QuerySet[AccessRecord, UUID]:
    """Ids of the records that name a user: as the one whose data it was, or among others."""
    own = AccessRecord.objects.for_team(team).filter(user_id=user_id).values_list("pk", flat=True)
    named = AccessNamed.objects.for_team(team).filter(user_id=user_id).values_list("record_id", flat=True)
    return own.union(named)


def _user_page(team: TeamContext, user_id: UUID, filters: AccessFilters, cursor: UUID | None, limit: int) -> AccessPage:
    """The ids that name the user, out of two indexes; then their records, held against all other filters."""
    others = {name: value for name, value in filters.equal().items() if name != "user_id"}
    bounded = others or filters.after is not None or filters.before is not None
    most = max(LOOKED_AT_MAXIMUM, limit + 1) if bounded else limit + 1
    ids = _user_ids_before(team, user_id, filters, cursor, most)
    rows = _in_time(AccessRecord.objects.for_team(team).filter(pk__in=ids, **others), filters)
    found = list(rows.order_by("-pk")[: limit + 1])
    if len(found) > limit:
        return AccessPage(found[:limit], found[limit - 1].pk)
    return AccessPage(found, ids[-1] if len(ids) == most else None)


def _user_ids_before(
    team: TeamContext, user_id: UUID, filters: AccessFilters, cursor: UUID | None, most: int
) -> list[UUID]:
    """The newest such ids, so many at most. One query."""
    bounds: dict[str, Any] = {}
    if filters.after is not None:
        bounds["gte"] = uuid_floor(filters.after - _SLACK)
    if cursor is not None or filters.before is not None:
        ends = [cursor] if filters.before is None else [cursor, uuid_floor(filters.before + _SLACK)]
        bounds["lt"] = min(end for end in ends if end is not None)
    own = AccessRecord.objects.for_team(team).filter(user_id=user_id)
    named = AccessNamed.objects.for_team(team).filter(user_id=user_id)
    own = own.filter(**{f"pk__{name}": value for name, value in bounds.items()}).order_by("-pk")
    named = named.filter(**{f"record_id__{name}": value for name, value in bounds.items()}).order_by("-record_id")
    first = own.values_list("pk", flat=True)[:most]
    return list(first.union(named.values_list("record_id", flat=True)[:most]).order_by("-id")[:most])


def access_records(team: TeamContext, filters: AccessFilters) -> Iterator[AccessRecord]:
    """All of a team's records that match, newest first, a page at a time in memory; enters the team's scope itself."""
    cursor = None
    while True:
        with team_scope(team):
            page = access_page(team, filters=filters, cursor=cursor, limit=EXPORT_PAGE)
        yield from page.records
        cursor = page.next_cursor
        if cursor is None:
            return


def seal_page(team: TeamContext, *, before: int | None, limit: int) -> list[AccessSeal]:
    """A team's seals without their lists, newest first, of lower numbers than `before`. One query."""
    seals = AccessSeal.objects.for_team(team).defer("entries").order_by("-number")
    return list((seals if before is None else seals.filter(number__lt=before))[:limit])


def organisation_records_page(organisation_id: UUID, cursor: UUID | None) -> list[OrganisationRecord]:
    """What was changed in an organisation, newest first: a page and one row more. One query."""
    rows = OrganisationRecord.objects.filter(organisation_id=organisation_id).order_by("-pk")
    return list((rows if cursor is None else rows.filter(pk__lt=cursor))[: PAGE_SIZE + 1])


def _in_time(rows: TeamQuerySet[AccessRecord], filters: AccessFilters) -> TeamQuerySet[AccessRecord]:
    """The bounds of ids leave out whole months."""
    if filters.after is not None:
        rows = rows.filter(pk__gte=uuid_floor(filters.after - _SLACK), occurred_at__gte=filters.after)
    if filters.before is not None:
        rows = rows.filter(pk__lt=uuid_floor(filters.before + _SLACK), occurred_at__lt=filters.before)
    return rows
