"""A team of many people, written as the service writes them, but set by set, under row security."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from typing import LiteralString
from uuid import UUID

import psycopg
from django.db import connection, transaction

from bench.stage import stage, vacuumed
from healthsvc.kernel.crypto import EncryptedTextField, seal
from healthsvc.kernel.scope import team_scope
from links.models import Connection
from tests.factories import Tenant, tenant_make
from users.models import User

#: Another team's, so that the team is not the whole of the table.
_OTHERS = 10_000
#: One in so many has a date of birth, which is sealed; another share a time zone, and a connection.
_BIRTH_DATE_EVERY, _TIME_ZONE_EVERY, _CONNECTION_EVERY = 5, 3, 4
_BIRTH_DATES = 1_000
#: Rows a statement, which has a time limit.
_PORTION = 100_000

_TEMPORARY = "CREATE TEMPORARY TABLE bench_birth_date (number int PRIMARY KEY, sealed bytea NOT NULL) ON COMMIT DROP"
#: Rows lie in the order in which people came, as in life; their names are in none.
_USERS: LiteralString = """
INSERT INTO users_user (
    id, team_id, environment, client_user_id, created_at, fallback_time_zone, fallback_time_zone_source,
    fallback_time_zone_updated_at, fallback_birth_date, fallback_birth_date_source, fallback_birth_date_updated_at
)
SELECT gen_random_uuid(), %(team)s, %(environment)s, 'person-' || substr(md5(n::text), 1, 12) || '-' || n, made.at,
       CASE WHEN zoned THEN 'Europe/Rome' END,
       CASE WHEN zoned THEN 'manual' ELSE '' END,
       CASE WHEN zoned THEN made.at END,
       born.sealed,
       CASE WHEN born.number IS NULL THEN '' ELSE 'manual' END,
       CASE WHEN born.number IS NOT NULL THEN made.at END
FROM generate_series(%(first)s, %(last)s) AS n
CROSS JOIN LATERAL (
    SELECT timestamptz '2023-01-01' + n * interval '80 seconds' AS at, n %% %(zone_every)s = 0 AS zoned
) AS made
LEFT JOIN bench_birth_date AS born ON n %% %(birth_every)s = 0 AND born.number = n / %(birth_every)s %% %(births)s
"""
_CONNECTIONS: LiteralString = """
INSERT INTO links_connection (
    id, team_id, environment, user_id, provider, status, login, region, external_user_id, created_at, connected_at,
    access_token, refresh_token, token_version, token_refusals, scopes_granted, scopes_denied, error_type
)
SELECT gen_random_uuid(), team_id, environment, id, 'oura', 'connected', 'oauth', '', '', created_at, created_at,
       %(access)s, %(refresh)s, 1, 0, '{daily}', '{}', ''
FROM users_user WHERE team_id = %(team)s AND environment = %(environment)s
    AND hashtext(client_user_id) %% %(connection_every)s = 0
"""


@dataclass(frozen=True, slots=True)
class Crowd:
    """A team with `count` people."""

    tenant: Tenant
    count: int


@contextmanager
def crowd(count: int) -> Iterator[Crowd]:
    """A database of its own with such a team, and a smaller one of another; told as people a second."""
    with stage() as tenant:
        started = time.perf_counter()
        _people_make(tenant, count)
        _people_make(tenant_make(name="Another team"), min(count, _OTHERS))
        seconds = time.perf_counter() - started
        vacuumed("users_user", "links_connection")
        print(f"\nPeople: a team of {count:,}, made in {seconds:.1f} s, {count / seconds:,.0f}/s", flush=True)
        yield Crowd(tenant, count)


def _people_make(tenant: Tenant, count: int) -> None:
    with team_scope(tenant.context), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_TEMPORARY)
        connection.ensure_connection()
        with psycopg.Cursor(connection.connection) as raw, raw.copy("COPY bench_birth_date FROM STDIN") as copy:
            for number in range(_BIRTH_DATES):
                born = (date(1950, 1, 1) + timedelta(days=17 * number)).isoformat()
                copy.write_row((number, _sealed(User, "fallback_birth_date", born)))
        given: dict[str, UUID | str | int | bytes] = {
            "team": tenant.team.id,
            "environment": str(tenant.context.environment),
            "zone_every": _TIME_ZONE_EVERY,
            "birth_every": _BIRTH_DATE_EVERY,
            "births": _BIRTH_DATES,
            "connection_every": _CONNECTION_EVERY,
            "access": _sealed(Connection, "access_token", "access"),
            "refresh": _sealed(Connection, "refresh_token", "refresh"),
        }
        for first in range(1, count + 1, _PORTION):
            cursor.execute(_USERS, {**given, "first": first, "last": min(count, first + _PORTION - 1)})
        cursor.execute(_CONNECTIONS, given)


def _sealed(model: type[User] | type[Connection], name: str, text: str) -> bytes:
    field = model._meta.get_field(name)
    assert isinstance(field, EncryptedTextField)
    return seal(field.plaintext_encode(text), place=field.place)
