"""Demographics told twice at once, and told of somebody who leaves."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from tests import factories
from tests.clients import ApiClient
from tests.users.patients import patient_body
from tests.users.test_races import together
from users import selectors
from users.models import Demographics, User

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def tenant(transactional_db: None) -> Iterator[factories.Tenant]:
    """A team whose rows are committed."""
    yield factories.tenant_make()
    connection.close()


def test_twins_make_one_row_that_is_one_of_them_whole(tenant: factories.Tenant) -> None:
    user = factories.user_make(tenant)
    client = ApiClient(team_key=tenant.key)

    def tell(number: int) -> int:
        body = patient_body(first_name=f"Jane{number}", last_name=f"Doe{number}")
        return client.patch(f"/v2/user/{user.id}/info", body).status_code

    assert together(4, tell) == [200] * 4
    latest = client.get(f"/v2/user/{user.id}/info/latest").json()
    assert latest["first_name"].removeprefix("Jane") == latest["last_name"].removeprefix("Doe")
    with team_scope(tenant.context):
        assert Demographics.objects.count() == 1


def test_of_one_who_was_deleted_between_check_and_act_nothing_is_kept(
    tenant: factories.Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = factories.user_make(tenant)
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
    assert client.patch(f"/v2/user/{user.id}/info", patient_body()).status_code == 404
    with team_scope(tenant.context):
        assert Demographics.objects.count() == 0
