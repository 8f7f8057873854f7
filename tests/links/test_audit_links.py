"""Pulls, and the pages that a person connects on, leave one record each in the audit trail."""

from datetime import UTC, datetime

import orjson
import pytest
import time_machine

from healthsvc.kernel.scope import team_scope
from links.models import LinkToken, Pull
from links.services.pulls import pull_run
from tests.factories import Tenant, user_make
from tests.links.linking import browser, connected, opened, token_make
from tests.links.simulators import Simulator, call
from tests.management.trailing import told

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.mark.slow
def test_a_pull_of_many_windows_leaves_one_record(team: Tenant, simulator: Simulator) -> None:
    clock = orjson.dumps({"now": NOW.isoformat()}).decode()
    call("POST", f"{simulator.url}/_control/clock", clock, {"Content-Type": "application/json"})
    with time_machine.travel(NOW, tick=False):
        user = user_make(team, client_user_id="ada")
        connected(team, user, "oura")
        with team_scope(team.context):
            pull = Pull.objects.get(resource="hrv")
        pull_run(pull_id=pull.pk)
    assert told(team) == [("pull oura hrv", user.id, str(pull.pk), None)]


def test_a_form_on_our_page_leaves_one_record(team: Tenant, simulator: Simulator) -> None:
    client, user = browser(), user_make(team)
    page = opened(client, token_make(team, user))
    form = f"{page.partition('/provider/')[0]}/provider/eight_sleep/login"
    assert client.get(form).status_code == 200
    assert told(team, "link_token") == []
    client.post(form, {"username": "ada@example.com", "password": "wrong"})
    with team_scope(team.context):
        token_id = str(LinkToken.objects.get().pk)
    action = "POST /link/<uuid:session_id>/provider/<slug:slug>/login"
    assert told(team, "link_token") == [(action, user.id, token_id, 303)]
