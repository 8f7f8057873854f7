"""What health data tell of the person beside themselves: the time zone, and a profile's date of birth."""

from collections.abc import Sequence
from datetime import date, datetime
from uuid import UUID

from aggregation.records import SummaryRecord
from aggregation.store import checking
from aggregation.store.checking import Ingestion
from healthsvc.kernel import clock
from healthsvc.kernel.principal import TeamContext
from users.services import fallback_birth_date_learn, fallback_time_zone_learn

_PROFILE = "profile"
_EARLIEST_BIRTH = date(1900, 1, 1)


def person_learn(
    *,
    team: TeamContext,
    user_id: UUID,
    provider: str,
    time_zone: str | None,
    summaries: Sequence[SummaryRecord],
    known_at: datetime | None,
) -> None:
    """Keep what a write tells of the person, unless the customer said otherwise or something newer is known.

    known_at: the last moment the data tell of; None where they tell of none, and then their zone is not kept either.
    Changes the user's row. So call it before `health_data_store` or `user_hold` of the same transaction: two writers
    that both held the user would wait for each other here for ever.
    """
    if time_zone is not None and known_at is not None:
        fallback_time_zone_learn(
            team=team, user_id=user_id, time_zone=time_zone, source_slug=provider, known_at=known_at
        )
    birth_date = birth_date_of(summaries)
    if birth_date is not None:
        fallback_birth_date_learn(
            team=team, user_id=user_id, birth_date=birth_date, source_slug=provider, known_at=clock.now()
        )


def birth_date_of(summaries: Sequence[SummaryRecord]) -> date | None:
    """The plausible date of birth that the last profile among them names. Of what the store refuses nothing is kept."""
    found: date | None = None
    for record in summaries:
        named = record.fields.get("birth_date") if record.resource == _PROFILE else None
        if isinstance(named, str) and checking.summary_reason(record, Ingestion()) is None:
            birth_date = date.fromisoformat(named)
            if _EARLIEST_BIRTH <= birth_date <= clock.now().date():
                found = birth_date
    return found
