"""Two requests at the same moment: exactly one of them makes the user."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from healthsvc.kernel.errors import ErrorCode, ServiceError
from healthsvc.kernel.scope import team_scope
from tests import factories
from tests.clients import ApiClient
from tests.links.overlapping import Overlap
from users import services
from users.models import User
from users.services import exports, people

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def tenant(transactional_db: None) -> Iterator[factories.Tenant]:
    """A team whose rows are committed."""
    yield factories.tenant_make()
    connection.close()


def together(count: int, call: Callable[[int], Any]) -> list[Any]:
    """Run `call` in so many threads that all start at once; their answers."""
    gate = threading.Barrier(count)

    def run(number: int) -> Any:
        gate.wait(timeout=10)
        try:
            return call(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def _users(tenant: factories.Tenant) -> int:
    with team_scope(tenant.context):
        return User.objects.count()


def test_twins_with_one_client_user_id_make_one_user(tenant: factories.Tenant) -> None:
    client = ApiClient(team_key=tenant.key)
    answers = together(4, lambda _number: client.post("/v2/user", {"client_user_id": "anna"}))
    assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400]
    made = next(answer.json()["user_id"] for answer in answers if answer.status_code == 200)
    told = {answer.json()["detail"]["user_id"] for answer in answers if answer.status_code == 400}
    assert told == {made}
    assert _users(tenant) == 1


def test_twins_with_one_idempotency_key_get_one_answer(tenant: factories.Tenant) -> None:
    client = ApiClient(team_key=tenant.key)
    body = {"client_user_id": "anna"}
    answers = together(4, lambda _number: client.post("/v2/user", body, Idempotency_Key="k1"))
    assert {answer.status_code for answer in answers} <= {200, 409}
    assert len({answer.json()["user_id"] for answer in answers if answer.status_code == 200}) == 1
    assert client.post("/v2/user", body, Idempotency_Key="k1")["Idempotent-Replayed"] == "true"
    assert _users(tenant) == 1


def test_a_twin_that_comes_while_the_first_runs_is_told_so(
    tenant: factories.Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = ApiClient(team_key=tenant.key)
    body = {"client_user_id": "anna"}
    create = services.user_create
    twins: list[int] = []

    def create_with_a_twin_between(**values: Any) -> User:
        monkeypatch.setattr(services, "user_create", create)
        answers = together(1, lambda _number: client.post("/v2/user", body, Idempotency_Key="k1").status_code)
        twins.extend(answers)
        return create(**values)

    monkeypatch.setattr(services, "user_create", create_with_a_twin_between)
    assert client.post("/v2/user", body, Idempotency_Key="k1").status_code == 200
    assert twins == [409]
    assert _users(tenant) == 1


def test_a_patch_that_loses_its_name_between_check_and_act_changes_nothing(
    tenant: factories.Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = factories.user_make(tenant, client_user_id="anna")
    client = ApiClient(team_key=tenant.key)
    set_fallbacks = people._set_fallbacks

    def somebody_takes_the_name(*arguments: Any) -> None:
        monkeypatch.setattr(people, "_set_fallbacks", set_fallbacks)
        together(1, lambda _number: client.post("/v2/user", {"client_user_id": "ben"}).status_code)
        set_fallbacks(*arguments)

    monkeypatch.setattr(people, "_set_fallbacks", somebody_takes_the_name)
    changes = {"client_user_id": "ben", "fallback_time_zone": "Europe/Rome"}
    assert client.patch(f"/v2/user/{user.id}", changes).status_code == 409
    after = client.get(f"/v2/user/{user.id}").json()
    assert (after["client_user_id"], after["fallback_time_zone"]) == ("anna", None)


def test_exports_at_once_keep_to_the_team_s_bound(tenant: factories.Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "EXPORTS_MAKING_A_TEAM", 1)
    ada, ben = (factories.user_make(tenant).pk for _ in range(2))
    made, refused = Overlap(tenant, monkeypatch).run(
        lambda: exports.export_request(team=tenant.context, user_id=ada),
        lambda: exports.export_request(team=tenant.context, user_id=ben),
        stop_at="users.services.exports.job_create",
    )
    assert made[1] is True
    assert isinstance(refused, ServiceError)
    assert refused.code is ErrorCode.RATE_LIMITED
