"""The lifecycles: every pair of status and command, walked on real rows."""

from enum import StrEnum

import pytest

from healthsvc.kernel import clock
from links.models import LinkToken
from links.services.walk import walk
from links.states import (
    CONNECTION_TRANSITIONS,
    PULL_TRANSITIONS,
    TOKEN_TRANSITIONS,
    ConnectionCommand,
    ConnectionStatus,
    PullCommand,
    PullStatus,
    TokenCommand,
    TokenStatus,
    Transitions,
)
from tests.factories import Tenant, user_make


@pytest.mark.parametrize(
    ("transitions", "statuses", "commands", "ends"),
    [
        (TOKEN_TRANSITIONS, TokenStatus, TokenCommand, {TokenStatus.CONSUMED, TokenStatus.EXPIRED}),
        (CONNECTION_TRANSITIONS, ConnectionStatus, ConnectionCommand, set()),
        (PULL_TRANSITIONS, PullStatus, PullCommand, {PullStatus.SUCCESS, PullStatus.FAILURE}),
    ],
)
def test_tables_name_known_words_and_end_where_they_should(
    transitions: Transitions, statuses: type[StrEnum], commands: type[StrEnum], ends: set[StrEnum]
) -> None:
    assert {command for _, command in transitions} == set(commands)
    assert set(transitions.values()) <= set(statuses)
    assert set(statuses) - {status for status, _ in transitions} == ends


@pytest.mark.parametrize("status", list(TokenStatus))
@pytest.mark.parametrize("command", list(TokenCommand))
def test_a_walk_follows_the_table_and_nothing_else(in_team: Tenant, status: TokenStatus, command: TokenCommand) -> None:
    user = user_make(in_team)
    token = LinkToken.objects.create(
        team=in_team.team,
        environment="sandbox",
        user=user,
        token_hash=b"x" * 32,
        status=status,
        created_at=clock.now(),
        expires_at=clock.now(),
    )
    allowed = (status, command) in TOKEN_TRANSITIONS
    changed = walk(LinkToken.objects.filter(pk=token.pk), TOKEN_TRANSITIONS, command, provider="oura")
    token.refresh_from_db()
    assert changed == int(allowed)
    assert token.status == TOKEN_TRANSITIONS.get((status, command), status)
    assert token.provider == ("oura" if allowed else "")
