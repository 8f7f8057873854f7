"""What tests of the audit trail share: records, seals over them, and a superuser who tampers."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg
from django.db import connection

from healthsvc.kernel.principal import PrincipalKind
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.audit import access_record
from management.models import AccessRecord, AccessSeal, TrailMark
from management.trail_sealing import trail_seal_below
from tests.databases import url_with_database
from tests.factories import Tenant


def recorded(tenant: Tenant, count: int = 1, **values: Any) -> list[UUID]:
    """Records in a team's trail; their ids, oldest first."""
    values = {"actor_kind": PrincipalKind.TEAM_KEY, "actor_id": "a-key", "action": "GET /x", "ids": {}, **values}
    with team_scope(tenant.context):
        before = set(AccessRecord.objects.for_team(tenant.context).values_list("pk", flat=True))
        for _ in range(count):
            access_record(team=tenant.context, **values)
        rows = AccessRecord.objects.for_team(tenant.context).exclude(pk__in=before)
        return list(rows.order_by("pk").values_list("pk", flat=True))


def told(tenant: Tenant, kind: str = "worker") -> list[tuple[str, UUID | None, str, int | None]]:
    """What a kind of actor did: action, whose data, which work or credential, and what was answered."""
    with team_scope(tenant.context):
        rows = AccessRecord.objects.for_team(tenant.context).filter(actor_kind=kind).order_by("pk")
        return list(rows.values_list("action", "user_id", "actor_id", "status_code"))


def sealed_here() -> int:
    """Seal what this test's own transaction wrote, as if it were over."""
    with system_scope(SystemScope.PURGE):
        with connection.cursor() as cursor:
            cursor.execute("SELECT management_trail_offset() + pg_current_xact_id()::text::bigint + 1")
            position = int(cursor.fetchone()[0])
        sealed = trail_seal_below(position)
        # What this transaction writes from now on has the same position, and is not due.
        TrailMark.objects.filter(pk="sealed").update(position=position - 1)
        return sealed


def seals_of(tenant: Tenant) -> list[AccessSeal]:
    """A team's chain."""
    with team_scope(tenant.context):
        return list(AccessSeal.objects.for_team(tenant.context).order_by("number"))


@contextmanager
def superuser() -> Iterator[psycopg.Connection]:
    """Somebody whom neither policies nor triggers hold, at this test's database."""
    url = url_with_database(os.environ["TEST_SUPERUSER_URL"], str(connection.settings_dict["NAME"]))
    with psycopg.connect(url, autocommit=True) as found:
        found.execute("SET session_replication_role = replica")
        yield found
