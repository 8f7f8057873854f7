"""What becomes of a connection that may read less than it could: told by the provider, never guessed.

`scopes_granted` and `scopes_denied` are the provider's own word about the grant: from the login, and from a token
endpoint that names fewer scopes later. A data call that is refused for its scope does not change them, for vendors
answer the same where a subscription has lapsed; its pull ends as `scope_missing`. Once every resource has come to
that on each of several days, nothing is left to read, and the connection is broken.
"""

from collections.abc import Collection
from datetime import date
from uuid import UUID

import structlog

from links import selectors
from links.connection_selectors import SECRET_FIELDS
from links.connectors.failures import FailureKind
from links.constants import SCOPE_REFUSALS_DAYS, ConnectionErrorType
from links.models import Connection, Pull
from links.services.connections import connection_break
from links.states import PullStatus

log = structlog.get_logger(__name__)


def scopes_narrow(*, connection_id: UUID, token_version: int, scopes: Collection[str]) -> bool:
    """Note what a renewed pair of tokens opens; True where that is nothing, and the connection is broken by it.

    Scopes never grow here: a person grants them at a login. An answer that names none of those we know says nothing.
    """
    rows = Connection.objects.filter(pk=connection_id, token_version=token_version, disconnected_at=None)
    row = rows.defer(*SECRET_FIELDS).first()
    known = set(scopes) & set(row.scopes_granted) if row else set()
    if row is None or not known or known == set(row.scopes_granted):
        return False
    granted = [scope for scope in row.scopes_granted if scope in known]
    lost = [scope for scope in row.scopes_granted if scope not in known]
    rows.update(scopes_granted=granted, scopes_denied=[*row.scopes_denied, *lost])
    log.info("scopes_lost", provider=row.provider, connection_id=str(row.pk), scopes=lost)
    return not _readable(row, granted) and _break(row)


def scope_refused(*, connection_id: UUID) -> bool:
    """Called after a pull ended as `scope_missing`; True where every resource has, day after day, and it is broken.

    A resource that was refused rests for a day, so one bad hour of a provider's is one day of refusals.
    """
    rows = Connection.objects.filter(pk=connection_id, disconnected_at=None)
    row = rows.defer(*SECRET_FIELDS).first()
    if row is None:
        return False
    refused = _days_refused(row)
    wanted = _readable(row, row.scopes_granted)
    return bool(wanted) and all(refused.get(one, 0) >= SCOPE_REFUSALS_DAYS for one in wanted) and _break(row)


def _days_refused(row: Connection) -> dict[str, int]:
    """By resource, on how many days it was refused since the last login and since anything else became of its pulls."""
    ended = Pull.objects.filter(connection_id=row.pk, ended_at__gte=row.connected_at)
    days: dict[str, set[date]] = {}
    over: set[str] = set()
    # As many as are kept: three days of one resource's pulls.
    for resource, status, error_code, ended_on in ended.order_by("-ended_at").values_list(
        "resource", "status", "error_code", "ended_at__date"
    ):
        if status == PullStatus.FAILURE and error_code == FailureKind.SCOPE_MISSING and resource not in over:
            days.setdefault(resource, set()).add(ended_on)
        else:
            over.add(resource)
    return {resource: len(found) for resource, found in days.items()}


def _readable(row: Connection, scopes: Collection[str]) -> list[str]:
    return selectors.resources_available(row.provider, list(scopes), row.context.environment)


def _break(row: Connection) -> bool:
    return connection_break(
        connection_id=row.pk,
        token_version=row.token_version,
        error_type=ConnectionErrorType.REQUIRED_SCOPES_NOT_GRANTED,
    )
