"""The audit trail in the staff admin: what a list and a record show, its filters and search, and the export."""

import csv
import io
from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from healthsvc.kernel import clock
from healthsvc.kernel.principal import PrincipalKind
from healthsvc.kernel.scope import SystemScope, system_scope
from management import trail_filters
from management.models import AccessRecord, StaffUser
from management.trail_export import COLUMNS
from tests.factories import Tenant, user_make
from tests.management.trailing import recorded, sealed_here, seals_of

pytestmark = pytest.mark.django_db

LIST = "/admin/management/accessrecord/"


def clerk(*permissions: str) -> Client:
    """Staff who may do only this."""
    staff = StaffUser.objects.create_user(username="bo", password="correct horse battery", is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(staff)
    return client


@pytest.fixture
def seer(db: None) -> Client:
    """Staff who may see the trail and its seals."""
    return clerk("view_accessrecord", "view_accessseal")


def shown(client: Client, **query: object) -> list[str]:
    """The actions of the records that a list shows, newest first."""
    answer = client.get(LIST, {name: str(value) for name, value in query.items()})
    assert answer.status_code == 200, query
    return [row.action for row in answer.context["cl"].result_list]


def test_a_list_tells_who_whose_what_when_and_leads_on(team: Tenant, seer: Client) -> None:
    user = user_make(team)
    (record_id,) = recorded(team, actor_id="key-0123456789", ids={"user_id": str(user.pk)}, status_code=404)
    recorded(team, user_ids=[user.pk, uuid4()])
    page = seer.get(LIST).content.decode()
    assert f'href="?user_id={user.pk}"' in page
    assert 'href="?actor_id=key-0123456789"><span class="mono" title="key-0123456789">…23456789</span>' in page
    with system_scope(SystemScope.STAFF):
        record = AccessRecord.objects.get(pk=record_id)
    assert f"{record.occurred_at:%H:%M:%SZ}" in page
    assert "2 users" in page
    whole = seer.get(f"{LIST}{record_id}/change/").content.decode()
    assert "AccessRecord object" not in page + whole
    assert "team_key: GET /x" in whole
    for text in (str(user.pk), "key-0123456789", clock.utc_text(record.occurred_at), "404", str(team.context.team_id)):
        assert text in whole


def test_filters_find_what_they_say(team: Tenant, other_team: Tenant, production: Tenant, seer: Client) -> None:
    user = user_make(team)
    recorded(team, action="own", ids={"user_id": str(user.pk)}, status_code=200, actor_id="one")
    recorded(team, action="among", user_ids=[user.pk], status_code=404)
    recorded(other_team, action="theirs", actor_kind=PrincipalKind.WORKER)
    recorded(production, action="live", status_code=503)
    assert shown(seer) == ["live", "theirs", "among", "own"]
    assert shown(seer, user_id=user.pk) == ["among", "own"]
    assert shown(seer, team_id=other_team.context.team_id) == ["theirs"]
    assert shown(seer, actor_id="one") == ["own"]
    assert shown(seer, actor_kind="worker") == ["theirs"]
    assert shown(seer, environment="production") == ["live"]
    by_status = {chosen: shown(seer, status=chosen) for chosen in ("2", "3", "4", "5", "none")}
    assert by_status == {"2": ["own"], "3": [], "4": ["among"], "5": ["live"], "none": ["theirs"]}
    assert shown(seer, user_id=user.pk, status="4", environment="sandbox") == ["among"]


def test_a_period_is_from_a_moment_to_another_in_utc(team: Tenant, seer: Client) -> None:
    (record_id,) = recorded(team)
    with system_scope(SystemScope.STAFF):
        at = AccessRecord.objects.get(pk=record_id).occurred_at
    second = timedelta(seconds=1)
    assert shown(seer, **{"from": at.isoformat(), "to": (at + second).isoformat()}) == ["GET /x"]
    assert shown(seer, **{"from": f"{at - second:%Y-%m-%d %H:%M:%S}"}) == ["GET /x"]
    assert shown(seer, **{"from": (at + second).isoformat()}) == []
    assert shown(seer, to=at.isoformat()) == []


@pytest.mark.parametrize(
    "query",
    [
        {"from": "yesterday"},
        {"to": "1999-01-01"},
        {"team_id": "ours"},
        {"occurred_at__gte": "2026-01-01"},
        {"address__startswith": "10."},
    ],
    ids=str,
)
def test_what_is_no_filter_is_refused_and_shows_nothing(team: Tenant, seer: Client, query: dict[str, str]) -> None:
    recorded(team)
    answer = seer.get(LIST, query)
    assert answer.status_code in (302, 400)
    assert answer.headers.get("Location", "") in ("", f"{LIST}?e=1")


def test_a_search_finds_what_is_equal(team: Tenant, other_team: Tenant, seer: Client) -> None:
    user = user_make(team)
    (record_id,) = recorded(team, action="GET /own", ids={"user_id": str(user.pk)}, request_id="req-1")
    recorded(team, action="GET /among", user_ids=[user.pk], address="10.0.0.7")
    recorded(other_team, action="GET /theirs", actor_id="key-9")
    found = {
        str(user.pk): ["GET /among", "GET /own"],
        str(other_team.context.team_id): ["GET /theirs"],
        str(record_id): ["GET /own"],
        "req-1": ["GET /own"],
        "10.0.0.7": ["GET /among"],
        "GET /theirs": ["GET /theirs"],
        "key-9": ["GET /theirs"],
        "key": [],
        "10.0.0": [],
        str(uuid4()): [],
    }
    assert {term: shown(seer, q=term) for term in found} == found


def test_what_has_no_index_is_looked_for_among_so_many(
    team: Tenant, seer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trail_filters, "LOOKED_AT_MAXIMUM", 2)
    user = user_make(team)
    recorded(team, action="old", address="10.0.0.7", status_code=500, ids={"user_id": str(user.pk)})
    recorded(team, 2, action="new")
    for query in ({"status": "5"}, {"q": "10.0.0.7"}, {"q": "old"}):
        assert shown(seer, **query) == [], query
    assert shown(seer, status="5", user_id=user.pk) == ["old"], "the newest of this user"


def test_no_filter_counts_the_table(team: Tenant, seer: Client) -> None:
    recorded(team, 3, status_code=200)
    with CaptureQueriesContext(connection) as captured:
        shown(seer, status="2", environment="sandbox", user_id=uuid4())
    asked = [one["sql"] for one in captured if "management_access_record" in one["sql"]]
    assert asked
    assert [sql for sql in asked if "COUNT(" in sql or "DISTINCT" in sql] == []


def test_the_export_is_the_chosen_records_and_leaves_one_itself(
    team: Tenant, other_team: Tenant, production: Tenant
) -> None:
    client = clerk("view_accessrecord", "export_accessrecord")
    user = user_make(team)
    (one,) = recorded(team, action="=1+1", ids={"user_id": str(user.pk)}, status_code=200, address="10.0.0.7")
    (two,) = recorded(other_team, action="GET /theirs")
    (not_chosen,) = recorded(production)
    chosen = [str(record_id) for record_id in (one, two)]
    answer = client.post(LIST, {"action": "export_csv", "_selected_action": chosen})
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/csv; charset=utf-8")
    assert answer["Content-Disposition"] == 'attachment; filename="access_records.csv"'
    assert str(not_chosen) not in answer.content.decode()
    rows = list(csv.DictReader(io.StringIO(answer.content.decode(), newline="")))
    assert [tuple(row) for row in rows] == [COLUMNS] * 2
    assert [row["id"] for row in rows] == [str(two), str(one)]
    first = rows[1]
    assert (first["user_id"], first["team_id"], first["status_code"], first["address"]) == (
        str(user.pk),
        str(team.context.team_id),
        "200",
        "10.0.0.7",
    )
    assert first["action"] == "'=1+1", "no formula of a spreadsheet"
    with system_scope(SystemScope.STAFF):
        written = AccessRecord.objects.filter(actor_kind="staff").order_by("pk")
        told = {(row.team_id, row.environment, row.action, row.actor_id) for row in written}
    staff_id, action = str(StaffUser.objects.get().pk), "export admin management.accessrecord"
    assert told == {(tenant.context.team_id, "sandbox", action, staff_id) for tenant in (team, other_team)}


def test_seeing_the_trail_is_not_enough_to_export_it(team: Tenant, seer: Client) -> None:
    (record_id,) = recorded(team)
    assert "export_csv" not in seer.get(LIST).content.decode()
    answer = seer.post(LIST, {"action": "export_csv", "_selected_action": [str(record_id)]})
    assert "attachment" not in answer.headers.get("Content-Disposition", "")
    with system_scope(SystemScope.STAFF):
        assert not AccessRecord.objects.filter(actor_kind="staff").exists()


def test_a_seal_is_told_in_words_with_its_digest_whole_on_its_page(team: Tenant, seer: Client) -> None:
    recorded(team)
    sealed_here()
    (seal,) = seals_of(team)
    page = seer.get("/admin/management/accessseal/").content.decode()
    assert f'href="?team_id={seal.team_id}"' in page
    whole = seer.get(f"/admin/management/accessseal/{seal.pk}/change/").content.decode()
    assert f"seal 1 of team {seal.team_id}, sandbox" in whole
    assert bytes(seal.digest).hex() in whole
