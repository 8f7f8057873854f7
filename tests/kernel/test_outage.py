"""A database that is away, or a statement that took too long: 503, and nothing is changed."""

from collections.abc import Iterator

import psycopg
import pytest
from django.db import OperationalError, connection

from healthsvc.kernel.scope import team_scope
from tests import factories
from tests.clients import ApiClient
from users.models import User

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def tenant(transactional_db: None) -> Iterator[factories.Tenant]:
    """A team whose rows are committed; its session is not used again."""
    yield factories.tenant_make()
    connection.close()


@pytest.fixture
def user(tenant: factories.Tenant) -> User:
    return factories.user_make(tenant)


@pytest.fixture
def held(tenant: factories.Tenant, user: User) -> Iterator[psycopg.Connection]:
    """Another session that holds the user's row."""
    settings = connection.get_connection_params()
    names = {name: settings[name] for name in ("dbname", "user", "password", "host", "port") if settings.get(name)}
    with psycopg.connect(**names) as session:
        for name, value in (("team_id", tenant.context.team_id), ("environment", tenant.context.environment)):
            session.execute("SELECT set_config(%s, %s, false)", [f"healthsvc.{name}", str(value)])
        assert session.execute("SELECT 1 FROM users_user WHERE id = %s FOR UPDATE", [user.pk]).fetchall() == [(1,)]
        yield session
        session.rollback()


def test_a_statement_that_takes_too_long_is_503(tenant: factories.Tenant, user: User, held: psycopg.Connection) -> None:
    api = ApiClient(team_key=tenant.key)
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = '300ms'")
    response = api.patch(f"/v2/user/{user.pk}", {"fallback_time_zone": "Europe/Berlin"})
    assert (response.status_code, response.json()["code"], response["Retry-After"]) == (503, "unavailable", "2")
    held.rollback()
    with team_scope(tenant.context):
        assert User.objects.get(pk=user.pk).fallback_time_zone is None


def test_a_session_the_server_ended_is_503_and_a_new_one_serves(tenant: factories.Tenant, user: User) -> None:
    api = ApiClient(team_key=tenant.key)
    assert api.get(f"/v2/user/{user.pk}").status_code == 200
    with connection.cursor() as cursor, pytest.raises(OperationalError):
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    assert api.get(f"/v2/user/{user.pk}").status_code == 503
    # What Django does at the end of a request, and its test client leaves out.
    connection.close_if_unusable_or_obsolete()
    assert api.get(f"/v2/user/{user.pk}").status_code == 200


def test_the_session_has_a_limit_for_statements(tenant: factories.Tenant) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("1min",)
