"""Which days a pull asks for."""

from datetime import date, timedelta

from healthsvc.kernel import clock
from links.catalogue import provider_find
from links.connection_selectors import Coverage
from links.constants import GAP_DAYS_MAXIMUM, REFRESH_DAYS, REFRESH_DAYS_MAXIMUM
from links.models import Connection
from users.models import User


def backfill_days(connection: Connection) -> tuple[date, date]:
    """What is asked for when somebody connects for the first time."""
    return clock.now().date() - timedelta(days=provider_find(connection.provider).backfill_days), last_day()


def refresh_days(user: User, known: Coverage, start_on: date | None) -> tuple[date, date]:
    """The last days, or the last ones of the ingestion bounds, and back to the last good pull; from `start_on` at most.

    A refresh that began later than that would hide the days in between.
    """
    today = clock.now().date()
    oldest = today - timedelta(days=REFRESH_DAYS_MAXIMUM)
    recent = start_on or min(today, user.ingestion_end_on or today) - timedelta(days=REFRESH_DAYS)
    since = max(oldest, min(recent, known.refreshed_until_on or recent))
    return min(since, start_on or since), last_day()


def last_day() -> date:
    """Tomorrow by UTC: east of Greenwich it may have begun already."""
    return clock.now().date() + timedelta(days=1)


def oldest_gap() -> date:
    """The first day that is worth asking for after a long break."""
    return clock.now().date() - timedelta(days=GAP_DAYS_MAXIMUM)
