"""The chain over the audit trail: what is sealed, what is found, and what an erasure and a restore may do to it."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import UUID, uuid4

import orjson
import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.db.utils import DatabaseError

from healthsvc.kernel import clock
from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.principal import PrincipalKind
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management import trail_sealing, trail_seals
from management.erasure import user_portion_erase
from management.models import AccessRecord, AccessSeal, TrailMark
from management.tasks import trail_seal
from management.trail_verification import Fault, Finding, trail_verify
from tests.factories import Tenant, organisation_make, tenant_make
from tests.management.trailing import recorded, sealed_here, seals_of, superuser


def faults(tenant: Tenant, **options: Any) -> list[Finding]:
    """What is wrong with a team's chain."""
    return trail_verify(tenant.context, **options).findings


def test_a_chain_links_signs_and_counts(team: Tenant, other_team: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trail_sealing, "ROWS_A_SEAL", 2)
    ids = recorded(team, 5)
    recorded(other_team)
    assert sealed_here() == 6
    seals = seals_of(team)
    assert [(seal.number, seal.row_count) for seal in seals] == [(1, 2), (2, 2), (3, 1)]
    listed = [record_id for seal in seals for record_id, _digest in trail_seals.entries_read(bytes(seal.entries))]
    assert listed == ids
    assert bytes(seals[0].previous_digest) == bytes(32)
    assert [bytes(seal.previous_digest) for seal in seals[1:]] == [bytes(seal.digest) for seal in seals[:2]]
    found = trail_verify(team.context)
    assert (found.whole, found.seals, found.records, found.unsealed) == (True, 3, 5, 0)
    assert found.head == bytes(seals[2].digest).hex()
    assert sealed_here() == 0
    recorded(team)
    assert trail_verify(team.context).unsealed == 1


def test_a_chain_can_be_gone_through_in_parts(team: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trail_sealing, "ROWS_A_SEAL", 1)
    recorded(team, 3)
    sealed_here()
    first = trail_verify(team.context, seals_maximum=2)
    assert (first.records, first.next_number, first.unsealed) == (2, 3, None)
    rest = trail_verify(team.context, first_number=3, seals_maximum=2)
    assert (rest.whole, rest.records, rest.next_number, rest.unsealed) == (True, 1, None, 0)
    assert faults(team, first_number=9) == [Finding(Fault.NUMBER, 8)]


@pytest.mark.django_db(transaction=True)
def test_what_a_superuser_changes_removes_or_adds_is_named(team: Tenant) -> None:
    ids = recorded(team, 2)
    added = uuid_ordered()
    ids += recorded(team, 3)
    trail_seal()
    assert faults(team) == []
    with superuser() as tampering:
        tampering.execute("UPDATE management_access_record SET actor_id = 'nobody' WHERE id = %s", [ids[1]])
        tampering.execute("UPDATE management_access_record SET address = '192.0.2.9' WHERE id = %s", [ids[4]])
        tampering.execute("DELETE FROM management_access_record WHERE id = %s", [ids[2]])
        tampering.execute(
            "INSERT INTO management_access_record SELECT %s, team_id, environment, user_id, actor_kind, actor_id,"
            " action, object_ids, request_id, address, occurred_at, status_code, position"
            " FROM management_access_record WHERE id = %s",
            [added, ids[0]],
        )
    assert set(faults(team)) == {
        Finding(Fault.CHANGED, 1, ids[1]),
        Finding(Fault.CHANGED, 1, ids[4]),
        Finding(Fault.MISSING, 1, ids[2]),
        Finding(Fault.ADDED, 1, added),
    }
    with pytest.raises(CommandError, match=f"record_missing 1 {ids[2]}"):
        call_command("audit_verify")


#: What is done to the second of three seals, and what it is found as.
TAMPERING = {
    "UPDATE management_access_seal SET row_count = 9 WHERE number = 2 AND team_id = %s": Fault.CONTENT,
    "UPDATE management_access_seal SET signature = digest WHERE number = 2 AND team_id = %s": Fault.SIGNATURE,
    "UPDATE management_access_seal SET entries = digest WHERE number = 2 AND team_id = %s": Fault.ENTRIES,
    "DELETE FROM management_access_seal WHERE number = 2 AND team_id = %s": Fault.NUMBER,
}


@pytest.mark.django_db(transaction=True)
def test_what_a_superuser_does_to_seals_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trail_sealing, "ROWS_A_SEAL", 1)
    organisation = organisation_make()
    tenants = [tenant_make(organisation) for _ in TAMPERING]
    for tenant in tenants:
        recorded(tenant, 3)
    trail_seal()
    for tenant, (statement, fault) in zip(tenants, TAMPERING.items(), strict=True):
        assert faults(tenant) == []
        with superuser() as tampering:
            tampering.execute(statement, [tenant.team.pk])
        assert fault in {finding.fault for finding in faults(tenant)}


@pytest.mark.django_db(transaction=True)
def test_the_command_finds_chains_without_a_beginning_and_records_without_a_chain(
    team: Tenant, other_team: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trail_sealing, "ROWS_A_SEAL", 1)
    recorded(team, 2)
    recorded(other_team, 2)
    trail_seal()
    call_command("audit_verify", stdout=StringIO())
    with superuser() as tampering:
        tampering.execute("DELETE FROM management_access_seal WHERE team_id = %s AND number = 1", [team.team.pk])
        tampering.execute("DELETE FROM management_access_seal WHERE team_id = %s", [other_team.team.pk])
    with pytest.raises(CommandError) as found:
        call_command("audit_verify")
    for tenant in (team, other_team):
        assert f"{tenant.team.pk} sandbox seal_missing 1" in str(found.value).splitlines()


@pytest.mark.django_db(transaction=True)
def test_an_end_that_was_cut_off_is_found_by_a_head_that_was_written_down(
    team: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trail_sealing, "ROWS_A_SEAL", 1)
    ids = recorded(team, 2)
    trail_seal()
    head = trail_verify(team.context).head
    with superuser() as tampering:
        tampering.execute("DELETE FROM management_access_seal WHERE number = 2")
    assert faults(team) == [Finding(Fault.NUMBER, 2)]
    with superuser() as tampering:
        tampering.execute("DELETE FROM management_access_record WHERE id = %s", [ids[1]])
    assert faults(team) == []
    assert faults(team, head=head) == [Finding(Fault.HEAD, 1)]
    options = {"team": str(team.team.pk), "environment": "sandbox", "head": head}
    with pytest.raises(CommandError, match="head_missing"):
        call_command("audit_verify", **options)


@contextmanager
def written_meanwhile(tenant: Tenant) -> Iterator[tuple[psycopg.Connection, UUID]]:
    """Another connection whose transaction has written a record and is open still; and the record's id."""
    parameters = connection.get_connection_params()
    settings: dict[str, Any] = {
        name: parameters[name] for name in ("host", "port", "user", "password", "dbname") if parameters.get(name)
    }
    with psycopg.connect(**settings) as slow:
        scope = "SELECT set_config('healthsvc.team_id', %s, false), set_config('healthsvc.environment', %s, false)"
        slow.execute(scope, [str(tenant.team.pk), "sandbox"])
        late = uuid_ordered()
        slow.execute(
            "INSERT INTO management_access_record (id, team_id, environment, actor_kind, actor_id, action, object_ids,"
            " request_id, address, occurred_at) VALUES (%s, %s, 'sandbox', 'worker', 'w', 'a', '{}', '', '', now())",
            [late, tenant.team.pk],
        )
        yield slow, late


@pytest.mark.django_db(transaction=True)
def test_what_transactions_of_many_hours_wrote_is_sealed(
    team: Tenant, other_team: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second outlives the first, which held the horizon until then."""
    began_at = clock.now()

    def hours_later(hours: int) -> None:
        monkeypatch.setattr(clock, "now", lambda: began_at + timedelta(hours=hours))
        trail_seal()

    trail_seal()
    trail_seal()
    with written_meanwhile(other_team) as (first, _), written_meanwhile(team) as (second, late):
        hours_later(2)
        first.commit()
        hours_later(4)
        hours_later(6)
        second.commit()
        hours_later(8)
    (seal,) = seals_of(team)
    assert [one for one, _digest in trail_seals.entries_read(bytes(seal.entries))] == [late]
    assert TrailMark.objects.get(pk="sealed").seen_at <= began_at + timedelta(hours=6)
    hours_later(9)
    assert TrailMark.objects.get(pk="sealed").seen_at == began_at + timedelta(hours=8), "it moves on"


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_is_still_open_is_never_passed(team: Tenant) -> None:
    """It wrote first and commits last; another's record waits with it, and both are sealed in their order."""
    with written_meanwhile(team) as (slow, late):
        ids = recorded(team)
        trail_seal()
        assert seals_of(team) == []
        slow.commit()
    trail_seal()
    (seal,) = seals_of(team)
    assert [one for one, _digest in trail_seals.entries_read(bytes(seal.entries))] == [late, *ids]
    assert trail_verify(team.context).whole


def test_a_second_sealer_finds_the_number_taken(team: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded(team, 2)
    write = trail_sealing._seal_write
    raced: list[int] = []

    def another_first(*given: Any) -> bool:
        if not raced:
            raced.append(1)
            assert write(*given)
        return write(*given)

    monkeypatch.setattr(trail_sealing, "_seal_write", another_first)
    assert sealed_here() == 0
    assert [(seal.number, seal.row_count) for seal in seals_of(team)] == [(1, 2)]
    assert trail_verify(team.context).whole


def test_an_erasure_leaves_the_chain_whole(team: Tenant) -> None:
    user_id = uuid4()
    person: dict[str, Any] = {"ids": {"user_id": str(user_id)}, "address": "192.0.2.1"}
    (own,) = recorded(team, actor_kind=PrincipalKind.LINK_TOKEN, **person)
    (staffs,) = recorded(team, actor_kind=PrincipalKind.STAFF, **person)
    sealed_here()
    with system_scope(SystemScope.PURGE):
        assert user_portion_erase(team.context, user_id) == {"management_access_record": 1}
        assert AccessRecord.objects.get(pk=own).address == ""
        assert AccessRecord.objects.get(pk=staffs).address == "192.0.2.1"
    assert trail_verify(team.context).whole


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (PrincipalKind.LINK_TOKEN, {"address": "192.0.2.2"}),
        (PrincipalKind.LINK_TOKEN, {"address": "", "action": "forged"}),
        (PrincipalKind.TEAM_KEY, {"address": ""}),
        (PrincipalKind.TEAM_KEY, None),
    ],
)
def test_not_even_the_purge_scope_changes_or_removes_a_record(
    team: Tenant, kind: PrincipalKind, change: dict[str, str] | None
) -> None:
    (record_id,) = recorded(team, actor_kind=kind, address="192.0.2.1")
    rows = AccessRecord.objects.filter(pk=record_id)
    with system_scope(SystemScope.PURGE):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            rows.delete() if change is None else rows.update(**change)
        assert rows.values_list("address", "action").get() == ("192.0.2.1", "GET /x")


def test_seals_are_never_changed_or_removed(team: Tenant) -> None:
    recorded(team)
    sealed_here()
    with system_scope(SystemScope.PURGE):
        for change in (lambda: AccessSeal.objects.update(row_count=2), lambda: AccessSeal.objects.all().delete()):
            with pytest.raises(DatabaseError, match="for ever"), transaction.atomic():
                change()
    assert [seal.row_count for seal in seals_of(team)] == [1]


def test_nothing_is_sealed_while_positions_are_behind(team: Tenant) -> None:
    recorded(team)
    TrailMark.objects.create(name="sealed", position=10**15, seen_at=clock.now())
    assert sealed_here() == 0
    assert seals_of(team) == []


def test_after_a_restore_positions_go_on_above_what_was_sealed(db: None) -> None:
    """A dump brings rows with it and not the counter of transactions."""
    far = 10**15
    with superuser() as restored, restored.transaction(force_rollback=True):
        restored.execute("INSERT INTO management_trail_mark VALUES ('sealed', %s, now())", [far])
        offset = restored.execute("SELECT management_trail_rebase()").fetchone()
        assert restored.execute("SELECT management_trail_rebase()").fetchone() == offset
        made = restored.execute(
            "INSERT INTO management_access_record (id, team_id, environment, actor_kind, actor_id, action, object_ids,"
            " request_id, address, occurred_at) VALUES (%s, %s, 'sandbox', 'worker', 'w', 'a', '{}', '', '', now())"
            " RETURNING position",
            [uuid_ordered(), uuid4()],
        )
        assert made.fetchone() == (far + 1,)


def test_the_command_tells_every_chain(team: Tenant) -> None:
    recorded(team, 2)
    sealed_here()
    out = StringIO()
    call_command("audit_verify", json=True, stdout=out)
    answer = orjson.loads(out.getvalue())
    assert (answer["whole"], answer["outside_months"]) == (True, 0)
    assert answer["public_key"] == trail_seals.public_key().hex()
    (chain,) = answer["teams"]
    assert {name: chain[name] for name in ("team_id", "seals", "records", "dropped", "unsealed")} == {
        "team_id": str(team.team.pk),
        "seals": 1,
        "records": 2,
        "dropped": 0,
        "unsealed": 0,
    }
    with pytest.raises(CommandError, match="go together"):
        call_command("audit_verify", team=str(team.team.pk))


def test_a_run_that_is_short_of_time_goes_on_later(team: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trail_sealing, "ROWS_A_SEAL", 1)
    recorded(team, 3)
    monkeypatch.setattr(trail_sealing, "RUN_SECONDS", 0.0)
    with system_scope(SystemScope.PURGE):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_current_xact_id()::text::bigint + 1")
            position = cursor.fetchone()[0]
        assert trail_sealing.trail_seal_below(position, run_seconds=0.0) == 1
    assert not TrailMark.objects.exists()
    assert sealed_here() == 2
    assert TrailMark.objects.get(pk="looked").seen_at > clock.now() - timedelta(minutes=1)
    with team_scope(team.context):
        assert AccessSeal.objects.count() == 3
