"""The one place that asks what time it is, so that tests can move it."""

from datetime import UTC, datetime


def now() -> datetime:
    """The current instant, aware, in UTC."""
    return datetime.now(UTC)


def utc_text(moment: datetime) -> str:
    """An instant as the API prints it: ISO 8601 in UTC with offset, microseconds only where there are any."""
    return moment.astimezone(UTC).isoformat()
