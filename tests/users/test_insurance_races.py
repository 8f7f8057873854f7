"""Insurances told twice at once, and of somebody who leaves."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from tests import factories
from tests.clients import ApiClient
from tests.users.insuring import insurance_body, patient_known
from tests.users.test_races import together
from users import selectors
from users.models import Insurance, User

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def tenant(transactional_db: None) -> Iterator[factories.Tenant]:
    """A team whose rows are committed."""
    yield factories.tenant_make()
    connection.close()


@pytest.fixture
def user(tenant: factories.Tenant) -> User:
    """A user of theirs whose demographics are known."""
    user = factories.user_make(tenant)
    with team_scope(tenant.context):
        patient_known(tenant, user)
    return user


def test_twins_are_both_kept_and_the_latest_is_one_of_them_whole(tenant: factories.Tenant, user: User) -> None:
    client = ApiClient(team_key=tenant.key)

    def tell(number: int) -> int:
        body = insurance_body(member_id=f"M{number}", group_id=f"G{number}")
        return client.post(f"/v2/user/{user.id}/insurance", body).status_code

    assert together(4, tell) == [200] * 4
    latest = client.get(f"/v2/user/{user.id}/insurance/latest").json()
    assert latest["member_id"].removeprefix("M") == latest["group_id"].removeprefix("G")
    with team_scope(tenant.context):
        assert Insurance.objects.count() == 4


def test_of_one_who_was_deleted_between_check_and_act_nothing_is_kept(
    tenant: factories.Tenant, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = ApiClient(team_key=tenant.key)
    user_get = selectors.user_get

    def leave(_number: int) -> None:
        with team_scope(tenant.context):
            User.objects.filter(pk=user.pk).update(deleted_at=clock.now())

    def gone_before_the_look(*arguments: Any, **values: Any) -> User:
        monkeypatch.setattr(selectors, "user_get", user_get)
        together(1, leave)
        return user_get(*arguments, **values)

    monkeypatch.setattr(selectors, "user_get", gone_before_the_look)
    assert client.post(f"/v2/user/{user.id}/insurance", insurance_body()).status_code == 404
    with team_scope(tenant.context):
        assert Insurance.objects.count() == 0


def test_the_user_is_held_while_an_insurance_is_kept(
    tenant: factories.Tenant, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = ApiClient(team_key=tenant.key)
    demographics_find = selectors.demographics_find
    free: list[bool] = []

    def look(_number: int) -> None:
        with team_scope(tenant.context), connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM users_user WHERE id = %s FOR UPDATE SKIP LOCKED", [user.pk])
            free.append(cursor.fetchone() is not None)

    def looked_at(*arguments: Any) -> Any:
        together(1, look)
        return demographics_find(*arguments)

    monkeypatch.setattr(selectors, "demographics_find", looked_at)
    assert client.post(f"/v2/user/{user.id}/insurance", insurance_body()).status_code == 200
    assert free == [False]
