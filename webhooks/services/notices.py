"""Letters to the team and to the staff about an endpoint that was disabled; owed by its row until they are taken."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from healthsvc.kernel import clock
from healthsvc.kernel.mail import Letter, LetterRefusedError, MailError, MailServer, address_is_plain, mail_send
from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.scope import SystemScope, system_scope
from management.closed import of_living_team
from management.selectors import team_settings
from webhooks.constants import DISABLED_GONE, LETTER_ROWS, LETTER_WAIT_MAXIMUM_SECONDS, LETTER_WAIT_MINIMUM_SECONDS
from webhooks.models import Endpoint

log = structlog.get_logger(__name__)


class Audience(StrEnum):
    """Who is written to; each has its letter, and its column that says when."""

    TEAM = "team"
    STAFF = "staff"


_TOLD_FIELDS: Final = {Audience.TEAM: "disabled_told_at", Audience.STAFF: "disabled_told_staff_at"}


_WHY_FAILING: Final = "A webhook endpoint was disabled: every attempt to deliver to it has failed for five days."
_WHY_GONE: Final = "A webhook endpoint was disabled: it answered 410 Gone, which asks for no more deliveries."
_TEAM_DOES: Final = """What it was still owed is cancelled, and nothing more is sent to it. To get everything:

1. Mend the endpoint; the log of its attempts, in the webhooks portal, says how it failed.
2. Enable it again, in the portal or with PATCH {"disabled": false} at the management address.
3. Recover what failed, and replay what it was never sent, since the moment above.
"""
_STAFF_DOES: Final = """The team was told by the event webhook.endpoint.disabled, and by e-mail where it named an
address.

"""


@dataclass(frozen=True, slots=True)
class Disabled:
    """What a letter tells: the host, and not the path or query of the URL, which may hold secrets."""

    endpoint: Endpoint
    disabled_at: datetime
    failing_since: datetime | None


def letters_send_due() -> int:
    """Send the letters that are due, one endpoint after the other; how many endpoints were done with.

    Safe to run side by side and to kill: what is being sent is due again after a wait that grows with its age, and a
    letter that is sent twice has the same Message-ID. Ends early where the mail server is away.
    """
    done = 0
    with system_scope(SystemScope.DELIVERY):
        for _ in range(LETTER_ROWS):
            owed = _take()
            if owed is None:
                break
            try:
                done += _send(owed)
            except MailError as error:
                log.warning("mail_server_away", endpoint_id=str(owed.endpoint.pk), kind=str(error))
                break
    return done


def wait_seconds(age_seconds: float) -> float:
    """How long a letter of this age waits for its next try: as long as it is old, so that waits double."""
    return min(max(LETTER_WAIT_MINIMUM_SECONDS, age_seconds), LETTER_WAIT_MAXIMUM_SECONDS)


def _take() -> Disabled | None:
    """The endpoint whose letters have been due longest; they are put off until the next try."""
    now = clock.now()
    with transaction.atomic():
        due = Endpoint.objects.filter(of_living_team(), disabled_tell_at__lte=now).select_related("health")
        found = due.order_by("disabled_tell_at").select_for_update(no_key=True, skip_locked=True, of=("self",)).first()
        if found is None:
            return None
        disabled_at = found.disabled_at or now
        wait = wait_seconds((now - disabled_at).total_seconds())
        Endpoint.objects.filter(pk=found.pk).update(disabled_tell_at=now + timedelta(seconds=wait))
    health = getattr(found, "health", None)
    failing_since = health.failing_since if health and found.disabled_reason != DISABLED_GONE else None
    return Disabled(found, disabled_at, failing_since)


def _send(owed: Disabled) -> bool:
    """Write to everybody who was not written to yet; whether nobody is owed a letter any more."""
    endpoint, server = owed.endpoint, settings.MAIL_SERVER
    # One that was enabled again or deleted meanwhile is nobody's trouble.
    is_moot = endpoint.disabled_at is None or not endpoint.disabled or endpoint.deleted_at is not None
    taken = [
        _is_taken(server, owed, audience)
        for audience in Audience
        if server is not None and not is_moot and getattr(endpoint, _TOLD_FIELDS[audience]) is None
    ]
    if not all(taken):
        return False
    _same(owed).update(disabled_tell_at=None)
    return True


def _is_taken(server: MailServer, owed: Disabled, audience: Audience) -> bool:
    """Send one letter, where there is anybody; whether none need be sent again. MailError where the server is away."""
    endpoint_id, to = str(owed.endpoint.pk), _addresses(audience, owed.endpoint)
    if not to:
        return True
    try:
        refused = mail_send(server, letter_about(owed, audience, to))
    except LetterRefusedError as error:
        log.warning("letter_refused", endpoint_id=endpoint_id, audience=str(audience), is_final=error.is_final)
        return error.is_final
    if refused:
        log.warning("letter_refused", endpoint_id=endpoint_id, audience=str(audience), addresses=refused)
    _same(owed).update(**{_TOLD_FIELDS[audience]: clock.now()})
    return True


def _same(owed: Disabled) -> QuerySet[Endpoint]:
    """The row, while it is still disabled for what the letter tells."""
    return Endpoint.objects.filter(pk=owed.endpoint.pk, disabled_at=owed.endpoint.disabled_at)


def _addresses(audience: Audience, endpoint: Endpoint) -> tuple[str, ...]:
    if audience is Audience.STAFF:
        return tuple(settings.STAFF_NOTICE_EMAILS)
    address = team_settings(TeamContext(endpoint.team_id, Environment(endpoint.environment))).webhook_notice_email
    if address and not address_is_plain(address):
        log.warning("letter_without_address", endpoint_id=str(endpoint.pk))
        return ()
    return (address,) if address else ()


def letter_about(owed: Disabled, audience: Audience, to: tuple[str, ...]) -> Letter:
    """The letter to the team or to the staff: which endpoint, since when, and what to do."""
    endpoint = owed.endpoint
    facts = [
        f"Endpoint:    {endpoint.pk} at {urlsplit(endpoint.url).hostname}",
        f"Team:        {endpoint.team_id}, {endpoint.environment}",
        f"Disabled at: {_minute(owed.disabled_at)}",
    ]
    if owed.failing_since is not None:
        facts.append(f"Failing since: {_minute(owed.failing_since)}")
    why = _WHY_GONE if endpoint.disabled_reason == DISABLED_GONE else _WHY_FAILING
    what = _TEAM_DOES if audience is Audience.TEAM else _STAFF_DOES
    link = f"{settings.BASE_URL}/admin/webhooks/endpoint/{endpoint.pk}/change/\n" if audience is Audience.STAFF else ""
    domain = settings.EMAIL_FROM.rpartition("@")[2]
    return Letter(
        message_id=f"<{endpoint.pk}.{int(owed.disabled_at.timestamp())}.{audience}@{domain}>",
        to=to,
        subject=f"Webhook endpoint disabled ({endpoint.environment})",
        text="\n".join([why, "", *facts, "", what + link]),
    )


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
