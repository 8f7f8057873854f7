"""Summaries of the person's days, and single ones by their id."""

from collections.abc import Collection
from datetime import date
from uuid import UUID

from aggregation.catalogue import SummarySpec
from aggregation.constants import SUMMARIES_MAXIMUM
from aggregation.models import Summary
from aggregation.records import DataSource
from aggregation.store.summaries import SummaryRow
from healthsvc.kernel.errors import ErrorCode, Problem, invalid, not_found
from healthsvc.kernel.principal import TeamContext
from users import selectors as user_selectors
from users.models import User


def summary_rows(
    team: TeamContext, user_id: UUID, resource: str, *, start_on: date, end_on: date | None, provider: str = ""
) -> list[SummaryRow]:
    """Summaries of the person's days from `start_on` to `end_on`, inclusive, in order; 422 where they are too many."""
    found = summaries_of_days(team, user_id, resource, start_on=start_on, end_on=end_on, provider=provider)
    return [summary_row(row) for row in found]


def summaries_of_days(
    team: TeamContext,
    user_id: UUID,
    resource: str,
    *,
    start_on: date,
    end_on: date | None,
    provider: str = "",
    with_raw: bool = False,
) -> list[Summary]:
    """The same as they are kept; their raw forms, which may be large, only where they are wanted."""
    found = Summary.objects.for_team(team).filter(user_id=user_id, resource=resource, calendar_date__gte=start_on)
    if end_on is not None:
        found = found.filter(calendar_date__lte=end_on)
    if provider:
        found = found.filter(provider=provider)
    if not with_raw:
        found = found.defer("raw")
    rows = list(found.order_by("calendar_date", "starts_at", "id")[: SUMMARIES_MAXIMUM + 1])
    if len(rows) > SUMMARIES_MAXIMUM:
        message = f"More than {SUMMARIES_MAXIMUM} summaries; ask for a shorter time."
        raise invalid([Problem(("query", "start_date"), message, "too_many")], ErrorCode.QUERY_BUDGET_EXCEEDED)
    return rows


def summaries_known(
    team: TeamContext, user_id: UUID, resource: str, names: Collection[tuple[str, str]]
) -> set[tuple[str, str]]:
    """Those of `names`, a provider and what it calls the summary, that are kept. None without names."""
    if not names:
        return set()
    rows = Summary.objects.for_team(team).filter(user_id=user_id, resource=resource)
    rows = rows.filter(provider__in={provider for provider, _ in names}, external_id__in={name for _, name in names})
    return set(rows.values_list("provider", "external_id")) & set(names)


def summary_newest(team: TeamContext, user_id: UUID, resource: str, *, provider: str = "") -> Summary:
    """The summary that was revised last, of one provider where one is named; 404 where there is none."""
    found = Summary.objects.for_team(team).filter(user_id=user_id, resource=resource)
    if provider:
        found = found.filter(provider=provider)
    row = found.order_by("-updated_at", "-id").first()
    if row is None:
        raise not_found()
    return row


def summary_get(team: TeamContext, spec: SummarySpec, summary_id: UUID) -> tuple[Summary, User]:
    """A summary by its id, and the living user of the team whose it is; 404 otherwise."""
    row = Summary.objects.for_team(team).filter(id=summary_id, resource=spec.slug).defer("raw").first()
    if row is None:
        raise not_found()
    return row, user_selectors.user_get(team, row.user_id)


def summary_row(row: Summary) -> SummaryRow:
    """A summary as writers and shapes know it, without its raw form."""
    return SummaryRow(
        id=row.id,
        user_id=row.user_id,
        resource=row.resource,
        source=source_of(row),
        calendar_date=row.calendar_date,
        payload=row.payload,
        created_at=row.created_at,
        updated_at=row.updated_at,
        external_id=row.external_id,
        starts_at=row.starts_at,
        ends_at=row.ends_at,
        timezone_offset_seconds=row.timezone_offset_seconds,
    )


def source_of(row: Summary) -> DataSource:
    """Where a summary comes from."""
    return DataSource(row.provider, row.source_type, row.app_id or None, row.device_id or None)
