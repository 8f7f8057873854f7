"""Demonstrations: a simulated account with a month of data, connected without a person, for a week."""

from datetime import timedelta
from typing import Final
from uuid import UUID

from django.conf import settings

from healthsvc.kernel import clock
from healthsvc.kernel.errors import ErrorCode, ServiceError
from healthsvc.kernel.http import OutboundError, fetch
from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from links.applications import application_find
from links.catalogue import Provider
from links.connectors.failures import ProviderFailure
from links.connectors.oauth import Tokens
from links.connectors.wire import document_of, no_reply
from links.constants import PROVIDER_TIMEOUT_SECONDS, SIMULATOR_CLIENT_ID, SIMULATOR_CLIENT_SECRET
from links.models import Connection
from links.services.connections import Grant, connection_close, connection_store
from links.services.refusals import LinkRefused
from management.closed import of_living_team
from users import selectors as user_selectors

#: How long a demonstration lasts (source: the interface's reference).
DEMO_DAYS: Final = 7
_ENDED_A_RUN: Final = 200


def demo_connect(*, team: TeamContext, user_id: UUID, provider: Provider) -> Connection:
    """A simulated account of `provider` for this user, for a week. Calls the network, outside every transaction.

    403 outside the sandbox, 404 for an unknown user, 400 for a user who has a real connection, 503 where the
    simulator does not answer.
    """
    if team.environment is not Environment.SANDBOX:
        raise ServiceError(ErrorCode.NOT_ALLOWED, "Demo connections are made with a sandbox key only.")
    user_selectors.user_get(team, user_id)
    real = Connection.objects.for_team(team).filter(user_id=user_id, disconnected_at=None, expires_at=None)
    if real.exists():
        raise ServiceError(ErrorCode.BAD_REQUEST, "This user has a connected provider; demos are for users without.")
    grant = _grant(team, provider)
    try:
        return connection_store(team=team, user_id=user_id, grant=grant)
    except LinkRefused as refused:
        raise ServiceError(ErrorCode.BAD_REQUEST, f"Not connected: {refused.error_type}.") from None


def demos_end() -> int:
    """Disconnect the demonstrations whose week is over; how many that were."""
    with system_scope(SystemScope.DELIVERY):
        over = Connection.objects.filter(of_living_team(), disconnected_at=None, expires_at__lte=clock.now())
        found = list(over.order_by("expires_at").defer("access_token", "refresh_token", "credentials")[:_ENDED_A_RUN])
    ended = 0
    for connection in found:
        with team_scope(connection.context):
            ended += connection_close(connection, only_if_over=True)
    return ended


def _grant(team: TeamContext, provider: Provider) -> Grant:
    scopes = provider.scopes
    application = application_find(team, provider)
    account = _account(provider, scopes)
    return Grant(
        provider=provider.slug,
        tokens=account,
        scopes_granted=scopes,
        scopes_denied=(),
        external_user_id=account.external_user_id,
        login=provider.login,
        application_id=application.application_id if application else None,
        expires_at=clock.now() + timedelta(days=DEMO_DAYS),
    )


def _account(provider: Provider, scopes: tuple[str, ...]) -> Tokens:
    asked_at = clock.now()
    try:
        reply = fetch(
            "POST",
            f"{settings.SIMULATOR_URL}/{provider.slug}/demo/account",
            timeout_seconds=PROVIDER_TIMEOUT_SECONDS,
            form={
                "client_id": SIMULATOR_CLIENT_ID,
                "client_secret": SIMULATOR_CLIENT_SECRET,
                "scope": " ".join(scopes),
            },
        )
        answer = document_of(reply)
    except OutboundError as error:
        raise _away() from no_reply(error)
    except ProviderFailure as failure:
        raise _away() from failure
    seconds = answer.get("expires_in")
    return Tokens(
        access_token=str(answer.get("access_token", "")),
        refresh_token=str(answer.get("refresh_token", "")),
        expires_at=asked_at + timedelta(seconds=seconds if isinstance(seconds, int) else 0),
        scopes=scopes,
        external_user_id=str(answer.get("user_id", "")),
    )


def _away() -> ServiceError:
    return ServiceError(ErrorCode.UNAVAILABLE, "The provider simulator does not answer; try again.")
