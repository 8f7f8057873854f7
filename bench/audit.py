"""What the audit trail costs: the insert of a request, the room of a record, and how fast it is sealed and verified."""

import time
from unittest import mock
from uuid import uuid4

from django.db import connection, transaction
from django.test import Client

from bench.stage import medians, stage, table
from bench.targets import Targets
from healthsvc.kernel import hooks
from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.principal import PrincipalKind
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management import trail_sealing
from management.audit import access_record
from management.models import AccessRecord
from management.trail_selectors import AccessFilters, access_page
from management.trail_verification import trail_verify
from tests.factories import Tenant, tenant_make, user_make

_ROUNDS = 400
#: Records that are sealed, verified and searched: some of a month, of many people and few keys.
RECORDS = 200_000
_BATCH = 5_000
_SIZE = """
SELECT sum(pg_total_relation_size(inhrelid)), sum(pg_relation_size(inhrelid)), count(*)
  FROM pg_inherits WHERE inhparent = 'management_access_record'::regclass
"""


def measure(tenant: Tenant, targets: Targets) -> None:
    """Print all of it."""
    _requests(tenant, targets)
    filled = tenant_make(name="Filled")
    _fill(filled)
    _size()
    _sealing(filled, targets)
    _searching(filled)


def _requests(tenant: Tenant, targets: Targets) -> None:
    """One request with and without its record, in turns on the same run; and the insert alone."""
    one = user_make(tenant).id
    headers = {"x-service-api-key": tenant.key, "host": "localhost"}
    client = Client()

    def asked() -> bytes:
        return client.get(f"/v2/user/{one}", headers=headers).content

    def silent() -> bytes:
        with mock.patch.object(hooks, "audit_writer", return_value=lambda **_given: None):
            return asked()

    def insert() -> None:
        access_record(
            team=tenant.context,
            actor_kind=PrincipalKind.TEAM_KEY,
            actor_id=str(one),
            action="GET /v2/user/<user_id>",
            ids={"user_id": str(one)},
            request_id=str(one),
            address="192.0.2.1",
            status_code=200,
        )

    def insert_page() -> None:
        access_record(
            team=tenant.context,
            actor_kind=PrincipalKind.TEAM_KEY,
            actor_id=str(one),
            action="GET /v2/user",
            ids={},
            status_code=200,
            user_ids=people,
        )

    people = [uuid4() for _ in range(100)]
    candidates = {
        "without a record": silent,
        "with its record": asked,
        "insert": insert,
        "insert, a page of 100 people": insert_page,
    }
    with team_scope(tenant.context):
        found = medians(candidates, rounds=_ROUNDS)
    table("Get one user, and the record of it", found, "without a record")
    targets.at_most("a request with its record / without", found["with its record"] / found["without a record"], 1.5)


def _fill(tenant: Tenant) -> None:
    users, keys = [uuid4() for _ in range(5_000)], [str(uuid4()) for _ in range(20)]
    with team_scope(tenant.context):
        with connection.cursor() as cursor:
            cursor.execute("SELECT now()")
            now = cursor.fetchone()[0]
        for start in range(0, RECORDS, _BATCH):
            with transaction.atomic():
                AccessRecord.objects.bulk_create(
                    AccessRecord(
                        id=uuid_ordered(),
                        team_id=tenant.team.pk,
                        environment=str(tenant.context.environment),
                        user_id=users[number % 5_000],
                        actor_kind=str(PrincipalKind.TEAM_KEY),
                        actor_id=keys[number % 20],
                        action="GET /v2/timeseries/<user_id>/heartrate/grouped",
                        object_ids={"user_id": str(users[number % 5_000])},
                        request_id=str(uuid4()),
                        address="192.0.2.1",
                        occurred_at=now,
                        status_code=200,
                    )
                    for number in range(start, start + _BATCH)
                )


def _size() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_SIZE)
        whole, heap, _partitions = cursor.fetchone()
    million = 1_000_000 / RECORDS / 1_000_000
    print(f"\nA million records: {int(whole) * million:.0f} MB, of which {int(heap) * million:.0f} MB are no index")


def _sealing(tenant: Tenant, targets: Targets) -> None:
    started = time.perf_counter()
    sealed = trail_sealing.trail_seal(run_seconds=3600)
    sealing = time.perf_counter() - started
    started = time.perf_counter()
    found = trail_verify(tenant.context)
    verifying = time.perf_counter() - started
    if sealed < RECORDS or not found.whole or found.records != RECORDS:
        raise RuntimeError(f"{sealed} sealed, {found.records} verified, {found.faults} faults")
    with system_scope(SystemScope.STAFF), connection.cursor() as cursor:
        cursor.execute("SELECT pg_total_relation_size('management_access_seal')")
        size = int(cursor.fetchone()[0])
    print(f"Sealed {sealed / sealing:,.0f} records a second, verified {found.records / verifying:,.0f}")
    print(f"Seals of a million records: {size / sealed:.0f} MB")
    targets.at_least("records sealed a second", sealed / sealing, 5_000)


def _searching(tenant: Tenant) -> None:
    """Each filter with its index, and one that has none and looks at a bounded number."""
    with team_scope(tenant.context):
        row = AccessRecord.objects.for_team(tenant.context).order_by("pk")[RECORDS // 2]
        asked = {
            "newest": AccessFilters(),
            "of a user": AccessFilters(user_id=row.user_id),
            "of a key": AccessFilters(actor_id=row.actor_id),
            "of a request": AccessFilters(request_id=row.request_id),
            "of an address nobody has": AccessFilters(address="198.51.100.1"),
        }
        candidates = {
            name: (lambda filters=filters: access_page(tenant.context, filters=filters, limit=50))
            for name, filters in asked.items()
        }
        table(f"A page of the trail, {RECORDS:,} records", medians(candidates, rounds=20), "newest")


if __name__ == "__main__":
    with stage() as team:
        made = Targets()
        measure(team, made)
        made.told()
