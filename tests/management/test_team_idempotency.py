"""Idempotency keys at the management address: the first answer again, for the same key's request alone."""

from datetime import timedelta

import pytest

from healthsvc.kernel import clock
from management.models import Invite, Organisation, OrganisationRecord, OrganisationReply, Team
from management.tasks import idempotency_purge
from tests.clients import ApiClient
from tests.factories import Tenant, management_key_make
from tests.management.organising import team_path


def teams_path(organisation: Organisation) -> str:
    """Where teams are made."""
    return f"/v1/org/{organisation.id}/team"


BODY = {"name": "Clinic", "region": "eu"}


@pytest.mark.parametrize("header", ["Idempotency-Key", "X-Idempotency-Key"])
def test_a_team_is_made_once(organisation: Organisation, management_api: ApiClient, header: str) -> None:
    first, again = (management_api.post(teams_path(organisation), BODY, **{header: "k1"}) for _ in range(2))
    assert (again.status_code, again.json()) == (200, first.json())
    assert (again["Idempotent-Replayed"], "Idempotent-Replayed" in first) == ("true", False)
    assert Team.objects.filter(organisation=organisation).count() == 1
    # Both requests are in the trail.
    assert OrganisationRecord.objects.count() == 2


def test_an_invitation_is_sent_once(organisation: Organisation, management_api: ApiClient) -> None:
    path, body = f"/v1/org/{organisation.id}/invite", {"email": "ada@example.com"}
    answers = [management_api.post(path, body, Idempotency_Key="k1").json() for _ in range(2)]
    assert answers == [{"status": "invite_created"}] * 2
    assert Invite.objects.get().resent_at is None


def test_a_changed_body_is_refused_and_a_bad_one_not_kept(
    organisation: Organisation, management_api: ApiClient
) -> None:
    bad = management_api.post(teams_path(organisation), {**BODY, "region": "mars"}, Idempotency_Key="k1")
    good = management_api.post(teams_path(organisation), BODY, Idempotency_Key="k1")
    other = management_api.post(teams_path(organisation), {**BODY, "name": "Other"}, Idempotency_Key="k1")
    assert [bad.status_code, good.status_code, other.status_code] == [422, 200, 422]
    assert other.json()["code"] == "idempotency_key_reused"


def test_a_running_twin_is_refused_and_changes_nothing(organisation: Organisation, management_api: ApiClient) -> None:
    management_api.post(teams_path(organisation), BODY, Idempotency_Key="k1")
    OrganisationReply.objects.update(state="running")
    answer = management_api.post(teams_path(organisation), BODY, Idempotency_Key="k1")
    assert (answer.status_code, answer.json()["code"]) == (409, "request_running")
    assert Team.objects.filter(organisation=organisation).count() == 1


def test_another_key_gets_no_answer_that_was_not_its_own(
    organisation: Organisation, management_api: ApiClient, other_team: Tenant
) -> None:
    first = management_api.post(teams_path(organisation), BODY, Idempotency_Key="k1").json()
    for owner in (organisation, other_team.team.organisation):
        client = ApiClient(management_key=management_key_make(owner))
        made = client.post(teams_path(owner), BODY, Idempotency_Key="k1").json()
        assert made["id"] != first["id"]


def test_an_answer_with_a_secret_is_not_kept(team: Tenant, management_api: ApiClient) -> None:
    organisation_id = team.team.organisation_id
    keys = f"/v1/org/{organisation_id}/team_api_keys/sandbox/us"
    values = [
        management_api.post(keys, {"label": "x", "team_id": str(team.team.id)}, Idempotency_Key="k1").json()["value"]
        for _ in range(2)
    ]
    token = management_api.post(f"{team_path(team)}/create_api_access_token", {"env": "sandbox"}, Idempotency_Key="k2")
    assert (len(set(values)), token.status_code, OrganisationReply.objects.count()) == (2, 200, 0)


def test_kept_answers_go_after_a_day(
    organisation: Organisation, management_api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    management_api.post(teams_path(organisation), BODY, Idempotency_Key="k1")
    idempotency_purge()
    assert OrganisationReply.objects.count() == 1
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(hours=24, seconds=1))
    idempotency_purge()
    assert OrganisationReply.objects.count() == 0
