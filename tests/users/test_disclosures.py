"""What tells of a deleted user after all, or of somebody by a refusal: kept answers, and what the trail says of it."""

from typing import Any

import pytest

from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.models import IdempotentReply
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.management.trailing import told
from tests.users.erasing import later
from tests.users.insuring import insurance_body, patient_known
from users.constants import ERASURE_GRACE_SECONDS
from users.models import User

pytestmark = pytest.mark.django_db


def kept() -> int:
    """Answers that a repeat would get."""
    with system_scope(SystemScope.PURGE):
        return IdempotentReply.objects.count()


def test_a_deletion_forgets_kept_answers(api: ApiClient, team: Tenant) -> None:
    body = {"client_user_id": "ada"}
    first = api.post("/v2/user", body, Idempotency_Key="create").json()["user_id"]
    again = api.post("/v2/user", body, Idempotency_Key="taken")
    assert again.status_code == 400
    api.post("/v2/user", {"client_user_id": "ben"}, Idempotency_Key="other")

    def insured() -> Any:
        return api.post(f"/v2/user/{first}/insurance", insurance_body(), Idempotency_Key="insurance")

    with team_scope(team.context):
        patient_known(team, User.objects.get(pk=first))
    assert insured().status_code == 200
    assert kept() == 4
    assert api.delete(f"/v2/user/{first}").status_code == 200
    assert kept() == 1
    assert insured().status_code == 404
    second = api.post("/v2/user", body, Idempotency_Key="create")
    assert (second.status_code, "Idempotent-Replayed" in second) == (200, False)
    assert second.json()["user_id"] != first


def test_refusals_that_tell_of_a_person_are_in_the_trail(api: ApiClient, team: Tenant) -> None:
    user = user_make(team, client_user_id="ada")
    for _ in range(2):
        # The second one is a kept answer.
        taken = api.post("/v2/user", {"client_user_id": "ada"}, Idempotency_Key="k")
        assert (taken.status_code, taken.json()["detail"]["user_id"]) == (400, str(user.pk))
    assert [row[:2] + row[3:] for row in told(team, "team_key")] == [("POST /v2/user", user.pk, 400)] * 2
    assert api.post("/v2/user", {}).status_code == 422
    assert len(told(team, "team_key")) == 2


def test_so_are_refused_undoings(api: ApiClient, team: Tenant) -> None:
    user = user_make(team, client_user_id="ada")

    def refused() -> tuple[Any, ...]:
        assert api.post("/v2/user/undo_delete?client_user_id=ada").status_code == 409
        action, user_id, _, status = told(team, "team_key")[-1]
        return action, user_id, status

    assert refused() == ("POST /v2/user/undo_delete", user.pk, 409)
    api.delete(f"/v2/user/{user.pk}")
    other = user_make(team, client_user_id="ada")
    assert refused() == ("POST /v2/user/undo_delete", user.pk, 409)
    api.delete(f"/v2/user/{other.pk}")
    with later(ERASURE_GRACE_SECONDS + 1):
        assert refused() == ("POST /v2/user/undo_delete", other.pk, 409)
