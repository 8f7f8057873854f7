"""Batch ids: the same push again, another under the same name, twins, and what receipts and learning leave behind."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from aggregation.constants import PUSH_RECEIPT_DAYS
from aggregation.models import Push, Series
from aggregation.push import services
from aggregation.services import health_data_store
from aggregation.tasks import pushes_purge
from healthsvc.kernel.scope import team_scope
from tests import factories
from tests.aggregation.pushing import body_of, counts, heartbeat, push, receipt_of
from tests.clients import ApiClient
from tests.users.test_races import together
from users.models import User
from webhooks.models import Event

AT = "2026-03-01T08:00:00Z"
BODY = body_of({"heartrate": [heartbeat(AT), heartbeat("2026-03-01T09:00:00Z", -1.0)]}, batch_id="b-1")


@pytest.fixture
def user(team: factories.Tenant) -> User:
    return factories.user_make(team)


@pytest.fixture
def tenant(transactional_db: None) -> Iterator[factories.Tenant]:
    """A team whose rows are committed."""
    yield factories.tenant_make()
    connection.close()


def test_the_same_batch_again_gets_the_same_receipt_and_changes_nothing(
    api: ApiClient, user: User, team: factories.Tenant
) -> None:
    first = push(api, user, BODY)
    receipt_of(api, user, body_of({"heartrate": [heartbeat(AT, 70.0)]}))
    again = push(api, user, BODY)
    assert (first.status_code, again.status_code) == (200, 200)
    assert again.json() == first.json()
    assert ("Idempotent-Replayed" in first, again["Idempotent-Replayed"]) == (False, "true")
    read = api.get(f"/v2/timeseries/{user.id}/heartrate/grouped", {"start_date": "2026-03-01"}).json()
    assert [sample["value"] for sample in read["groups"]["manual"][0]["data"]] == [70.0]
    with team_scope(team.context):
        assert (Push.objects.count(), Event.objects.count()) == (1, 2)


def test_another_body_under_the_same_name_is_refused(api: ApiClient, user: User, team: factories.Tenant) -> None:
    receipt_of(api, user, BODY)
    other = push(api, user, {**BODY, "timeseries": {"steps": [{"start": AT, "value": 1}]}})
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert other.json()["detail"][0]["loc"] == ["body", "batch_id"]
    with team_scope(team.context):
        assert list(Series.objects.values_list("resource", flat=True)) == ["heartrate"]


def test_a_batch_is_a_users_own(api: ApiClient, user: User, team: factories.Tenant) -> None:
    other = factories.user_make(team)
    assert receipt_of(api, user, BODY)["timeseries"] == receipt_of(api, other, BODY)["timeseries"]
    assert receipt_of(api, user, body_of({"heartrate": []}, batch_id="b-2"))["timeseries"] == {"heartrate": counts()}
    with team_scope(team.context):
        assert Push.objects.count() == 3


def test_a_push_that_fails_leaves_its_name_free(
    api: ApiClient, user: User, team: factories.Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_arguments: Any, **_values: Any) -> None:
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr(services, "receipt_json", broken)
        assert push(api, user, BODY).status_code == 500
    with team_scope(team.context):
        assert (Push.objects.count(), Series.objects.count(), Event.objects.count()) == (0, 0, 0)
    assert receipt_of(api, user, BODY)["timeseries"] == {"heartrate": counts(created=1, refused=1)}


@pytest.mark.django_db(transaction=True)
def test_of_twins_one_stores_and_both_get_its_receipt(tenant: factories.Tenant) -> None:
    user = factories.user_make(tenant)
    client = ApiClient(team_key=tenant.key)
    body = {**BODY, "time_zone": "Europe/Berlin"}
    answers = together(4, lambda _number: push(client, user, body))
    assert [answer.status_code for answer in answers] == [200] * 4
    assert all(answer.json() == answers[0].json() for answer in answers)
    assert [answer.headers.get("Idempotent-Replayed") for answer in answers].count("true") == 3
    with team_scope(tenant.context):
        assert (Push.objects.count(), Event.objects.count()) == (1, 1)


@pytest.mark.django_db(transaction=True)
def test_where_the_first_of_twins_fails_the_other_stores(
    tenant: factories.Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = factories.user_make(tenant)
    client = ApiClient(team_key=tenant.key)

    def fail_once(**_values: Any) -> Any:
        monkeypatch.setattr(services, "health_data_store", health_data_store)
        raise RuntimeError

    monkeypatch.setattr(services, "health_data_store", fail_once)
    answers = together(2, lambda _number: push(client, user, BODY))
    assert sorted(answer.status_code for answer in answers) == [200, 500]
    with team_scope(tenant.context):
        assert (Push.objects.count(), Event.objects.count()) == (1, 1)


@pytest.mark.django_db(transaction=True)
def test_pushes_of_one_person_in_several_zones_at_once_do_not_wait_for_ever(tenant: factories.Tenant) -> None:
    user = factories.user_make(tenant)
    client = ApiClient(team_key=tenant.key)
    zones = ["Europe/Berlin", "Asia/Tokyo", "America/New_York", "Europe/London"]

    def pushed(number: int) -> list[int]:
        at = [f"2026-03-0{number + 1}T08:00:0{count}Z" for count in range(5)]
        bodies = [body_of({"heartrate": [heartbeat(one)]}, time_zone=zones[number]) for one in at]
        return [push(client, user, body).status_code for body in bodies]

    assert together(4, pushed) == [[200] * 5] * 4
    with team_scope(tenant.context):
        user = User.objects.get(pk=user.pk)
    assert (user.fallback_time_zone, user.fallback_time_zone_source) == ("Europe/London", "manual_push")


def test_the_zone_of_newer_data_becomes_the_persons(api: ApiClient, user: User) -> None:
    def zone() -> Any:
        return api.get(f"/v2/user/{user.id}").json()["fallback_time_zone"]

    receipt_of(api, user, body_of({"heartrate": []}, time_zone="Europe/Berlin"))
    assert zone() is None
    receipt_of(api, user, body_of({"heartrate": [heartbeat(AT)]}, time_zone="Europe/Berlin"))
    assert zone() == {"id": "Europe/Berlin", "source_slug": "manual_push", "updated_at": "2026-03-01T08:00:00+00:00"}
    receipt_of(api, user, body_of({"heartrate": [heartbeat("2025-03-01T08:00:00Z")]}, time_zone="Asia/Tokyo"))
    assert zone()["id"] == "Europe/Berlin"
    push(api, user, {**body_of({"heartrate": [heartbeat(AT)]}, time_zone="Asia/Tokyo"), "provider": "oura"})
    assert zone()["id"] == "Europe/Berlin"


def test_what_is_refused_tells_nothing_of_the_person(api: ApiClient, user: User) -> None:
    def person() -> Any:
        return api.get(f"/v2/user/{user.id}").json()

    low = body_of({"heartrate": [heartbeat("2026-03-05T08:00:00Z", -1.0)]}, time_zone="Asia/Tokyo")
    assert receipt_of(api, user, low)["refused_total"] == 1
    stream = {"workout_id": "nobody", "time": [1_772_352_000], "heartrate": [120]}
    profile = {"birth_date": "1980-02-29", "height": -1}
    unknown = body_of(None, {"workout_stream": [stream], "profile": [profile]}, time_zone="Asia/Tokyo")
    assert receipt_of(api, user, unknown)["refused_total"] == 2
    assert (person()["fallback_time_zone"], person()["fallback_birth_date"]) == (None, None)
    mixed = [heartbeat(AT), heartbeat("2026-03-05T08:00:00Z", -1.0)]
    receipt_of(api, user, body_of({"heartrate": mixed}, time_zone="Asia/Tokyo"))
    assert person()["fallback_time_zone"]["updated_at"] == "2026-03-01T08:00:00+00:00"


def test_a_stream_tells_of_a_zone_as_any_data_do(api: ApiClient, user: User) -> None:
    run = {"id": "run-1", "time_start": AT, "time_end": "2026-03-01T09:00:00Z", "sport": "running"}
    stream = {"workout_id": "run-1", "time": [1_772_352_000 + 1_800], "heartrate": [120]}
    receipt_of(api, user, body_of(None, {"workouts": [run]}))
    receipt_of(api, user, body_of(None, {"workout_stream": [stream]}, time_zone="Asia/Tokyo"))
    zone = api.get(f"/v2/user/{user.id}").json()["fallback_time_zone"]
    assert (zone["id"], zone["updated_at"]) == ("Asia/Tokyo", "2026-03-01T08:30:00+00:00")


def test_a_profile_tells_the_birth_date(api: ApiClient, user: User) -> None:
    def birth_date() -> Any:
        return api.get(f"/v2/user/{user.id}").json()["fallback_birth_date"]

    for wrong in ("1980-02-30", "2980-01-01", "1880-01-01", 7):
        receipt_of(api, user, body_of(None, {"profile": [{"birth_date": wrong}]}))
        assert birth_date() is None
    assert receipt_of(api, user, body_of(None, {"profile": [{"birth_date": "1980-02-29"}]}))["refused"] == []
    assert (birth_date()["value"], birth_date()["source_slug"]) == ("1980-02-29", "manual_push")
    receipt_of(api, user, body_of(None, {"profile": [{"birth_date": "1981-02-28", "height": 180}]}))
    assert birth_date()["value"] == "1981-02-28"


def test_old_receipts_are_removed(api: ApiClient, user: User, team: factories.Tenant) -> None:
    for number in range(3):
        receipt_of(api, user, {**BODY, "batch_id": f"b-{number}"})
    old = datetime.now(UTC) - timedelta(days=PUSH_RECEIPT_DAYS, minutes=1)
    with team_scope(team.context):
        Push.objects.exclude(batch_id="b-1").update(created_at=old)
    pushes_purge()
    with team_scope(team.context):
        assert list(Push.objects.values_list("batch_id", flat=True)) == ["b-1"]
    assert push(api, user, {**BODY, "batch_id": "b-1"})["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in push(api, user, {**BODY, "batch_id": "b-0"})
