"""The audit trail's months: where records go, what is closed, and what a retention drops."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction
from django.db.utils import DatabaseError, ProgrammingError
from psycopg import sql
from structlog.testing import capture_logs

from healthsvc.kernel import clock
from healthsvc.kernel.ids import uuid_floor
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management import trail_partitions
from management.models import AccessNamed, AccessRecord, AccessSeal, TrailMark
from management.tasks import trail_months, trail_seal
from management.trail_verification import trail_verify
from tests.factories import Tenant
from tests.management.trailing import recorded, sealed_here, superuser

OLD = datetime(2019, 3, 5, 12, tzinfo=UTC)


def partition_of(tenant: Tenant, record_id: UUID) -> str:
    """Where a record is kept."""
    with team_scope(tenant.context), connection.cursor() as cursor:
        cursor.execute("SELECT tableoid::regclass::text FROM management_access_record WHERE id = %s", [record_id])
        return str(cursor.fetchone()[0])


def planted(tenant: Tenant, made_at: datetime) -> AccessRecord:
    """A record of another time."""
    with team_scope(tenant.context):
        return AccessRecord.objects.create(
            id=uuid_floor(made_at),
            team_id=tenant.team.pk,
            environment="sandbox",
            actor_kind="team_key",
            actor_id="a-key",
            action="GET /x",
            occurred_at=made_at,
        )


def month_made(month: datetime) -> None:
    """The partition of an old month, as the service would have made it then."""
    low, high = uuid_floor(month.replace(day=1)), uuid_floor((month.replace(day=1) + timedelta(days=32)).replace(day=1))
    with superuser() as made:
        name = sql.Identifier(f"management_access_record_y{month:%Y}m{month:%m}")
        statement = sql.SQL("CREATE TABLE {} PARTITION OF management_access_record FOR VALUES FROM ({}) TO ({})")
        made.execute(statement.format(name, sql.Literal(str(low)), sql.Literal(str(high))))
        made.execute(sql.SQL("ALTER TABLE {} OWNER TO healthsvc_owner").format(name))


def test_there_are_months_ahead_and_records_go_to_theirs(team: Tenant) -> None:
    now = clock.now()
    (record_id,) = recorded(team)
    assert partition_of(team, record_id) == f"management_access_record_y{now:%Y}m{now:%m}"
    state = trail_partitions.months_state()
    assert state.in_default == 0
    assert state.until is not None
    assert state.until >= now + timedelta(days=80)
    assert trail_partitions.months_ensure() == 0


def test_what_has_no_month_is_kept_all_the_same(team: Tenant) -> None:
    far = planted(team, clock.now() + timedelta(days=800))
    old = planted(team, OLD)
    assert {partition_of(team, row.pk) for row in (far, old)} == {"management_access_record_default"}
    assert trail_partitions.months_state().in_default == 2


def test_rows_without_a_month_move_to_it_once_it_is_made(team: Tenant) -> None:
    state = trail_partitions.months_state()
    assert state.until is not None
    late = planted(team, state.until + timedelta(days=1))
    with connection.cursor() as cursor:
        cursor.execute("SELECT management_trail_ensure(%s)", [trail_partitions.MONTHS_AHEAD + 1])
        assert cursor.fetchone()[0] == 1
    assert partition_of(team, late.pk) == f"management_access_record_y{state.until:%Y}m{state.until:%m}"
    with team_scope(team.context):
        assert AccessRecord.objects.get(pk=late.pk).position == late.position


@pytest.mark.parametrize("command", ["SELECT * FROM {}", "UPDATE {} SET address = ''", "DELETE FROM {}"])
def test_partitions_are_closed_to_the_service(team: Tenant, command: str) -> None:
    (record_id,) = recorded(team)
    names = [partition_of(team, record_id), "management_access_record_default"]
    for name in names:
        statement = sql.SQL(command).format(sql.Identifier(name))
        refused = pytest.raises(ProgrammingError, match="permission denied")
        with system_scope(SystemScope.PURGE), refused, transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)


def test_every_partition_has_forced_row_security(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM management_trail_months() JOIN pg_class ON relname = name"
            " WHERE NOT (relrowsecurity AND relforcerowsecurity)"
        )
        assert cursor.fetchall() == []


def test_nobody_but_the_owner_moves_positions_or_drops_young_months(team: Tenant) -> None:
    with connection.cursor() as cursor:
        with pytest.raises(DatabaseError, match="permission denied"), transaction.atomic():
            cursor.execute("SELECT management_trail_rebase()")
        cursor.execute("SELECT management_trail_drop(now() + interval '10 years')")
        assert cursor.fetchone()[0] == 0


@pytest.mark.django_db(transaction=True)
def test_a_month_is_dropped_when_it_is_sealed_and_over_and_the_chain_stays_whole(team: Tenant) -> None:
    month_made(OLD)
    planted(team, OLD)
    (kept,) = recorded(team)
    trail_months()
    assert trail_partitions.months_state().partitions == 6, "not sealed, so not dropped"
    trail_seal()
    trail_months()
    assert trail_partitions.months_state().partitions == 5
    with team_scope(team.context):
        assert list(AccessRecord.objects.values_list("pk", flat=True)) == [kept]
    found = trail_verify(team.context)
    assert (found.whole, found.records, found.dropped) == (True, 1, 1)


@pytest.mark.django_db(transaction=True)
def test_a_month_waits_for_its_own_records_alone_and_is_told_of_and_heals(team: Tenant, other_team: Tenant) -> None:
    other_month = OLD.replace(month=5)
    for month in (OLD, other_month):
        month_made(month)
    planted(team, OLD)
    trail_seal()
    # As an older release left it behind: below what is told to be sealed.
    left_behind = planted(other_team, other_month)
    TrailMark.objects.filter(pk="sealed").update(position=left_behind.position + 1)
    trail_seal()
    with capture_logs() as logs:
        trail_months()
    assert trail_partitions.months_state().partitions == 6
    assert partition_of(other_team, left_behind.pk) == "management_access_record_y2019m05"
    told = [one for one in logs if one["event"] == "audit_months_wait"]
    assert told == [{"event": "audit_months_wait", "log_level": "warning", "count": 1, "teams": 1, "sealed": 1}]
    trail_months()
    assert trail_partitions.months_state().partitions == 5
    assert [trail_verify(one.context).whole for one in (team, other_team)] == [True, True]


@pytest.mark.django_db(transaction=True)
def test_not_even_by_the_function_itself_goes_a_month_that_is_not_sealed(team: Tenant) -> None:
    month_made(OLD)
    planted(team, OLD)
    with connection.cursor() as cursor:
        cursor.execute("SELECT management_trail_drop(now())")
        assert cursor.fetchone()[0] == 0
        trail_seal()
        cursor.execute("SELECT management_trail_drop(now())")
        assert cursor.fetchone()[0] == 1


def test_old_records_without_a_month_go_by_the_same_rule(team: Tenant) -> None:
    planted(team, OLD)
    young = planted(team, clock.now() - timedelta(days=400))
    far = planted(team, clock.now() + timedelta(days=800))
    trail_partitions.months_drop()
    with team_scope(team.context):
        assert AccessRecord.objects.count() == 3, "not sealed"
    sealed_here()
    trail_partitions.months_drop()
    with team_scope(team.context):
        assert set(AccessRecord.objects.values_list("pk", flat=True)) == {young.pk, far.pk}
    assert trail_partitions.months_state().in_default == 2
    found = trail_verify(team.context)
    assert (found.whole, found.dropped) == (True, 1)


def test_who_is_named_in_an_old_record_goes_with_it(team: Tenant) -> None:
    users = [uuid4() for _ in range(2)]
    recorded(team, user_ids=users)
    with team_scope(team.context):
        AccessNamed.objects.create(
            team_id=team.team.pk, environment="sandbox", user_id=users[0], record_id=uuid_floor(OLD)
        )
    trail_partitions.months_drop()
    with team_scope(team.context):
        assert sorted(AccessNamed.objects.values_list("user_id", flat=True)) == sorted(users)


def test_lists_of_dropped_months_go_and_their_digest_stays(team: Tenant) -> None:
    planted(team, OLD)
    sealed_here()
    with team_scope(team.context):
        (before,) = AccessSeal.objects.values_list("digest", flat=True)
    with system_scope(SystemScope.PURGE):
        trail_partitions._lists_drop(trail_partitions.kept_from())
    with team_scope(team.context):
        (seal,) = AccessSeal.objects.all()
    assert (bytes(seal.entries), bytes(seal.digest)) == (b"", bytes(before))
    found = trail_verify(team.context)
    assert (found.whole, found.dropped) == (True, 1)


def test_the_retention_begins_with_a_month(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: datetime(2026, 1, 31, 12, tzinfo=UTC))
    assert trail_partitions.kept_from() == datetime(2020, 1, 1, tzinfo=UTC)
