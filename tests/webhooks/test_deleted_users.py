"""Nothing about a deleted user is shown or sent anew until the deletion is undone; what was owed is delivered."""

from typing import Any
from uuid import UUID

import pytest

from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.models import AccessRecord, BackgroundJob
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.webhooks.conftest import deliveries, emit, endpoint_make, make_due, pump
from tests.webhooks.portal_visiting import visitor
from tests.webhooks.receiving import Answer, Receiver
from tests.webhooks.staffing import superuser
from tests.webhooks.test_api_log import base_of
from tests.webhooks.test_api_repairs import text_ago
from users.models import User
from users.services.deletion import user_delete, user_delete_undo
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.services.repair_work import repair_run
from webhooks.states import DeliveryStatus


@pytest.fixture
def user(team: Tenant) -> User:
    """Whom messages are about."""
    return user_make(team)


def deleted(tenant: Tenant, user: User) -> None:
    """As the team's API does it."""
    with team_scope(tenant.context):
        user_delete(team=tenant.context, user_id=user.pk)


def undone(tenant: Tenant, user: User) -> None:
    """Within the days of grace."""
    with team_scope(tenant.context):
        user_delete_undo(team=tenant.context, user_id=user.pk)


def repaired(api: ApiClient, path: str) -> int:
    """How many messages a repair of the last hour owes anew."""
    answer = api.post(path, {"since": text_ago(hours=1)})
    assert answer.status_code == 202, answer.content
    job_id = UUID(answer.json()["job_id"])
    repair_run(job_id=job_id)
    with system_scope(SystemScope.STAFF):
        owed: int = BackgroundJob.objects.get(pk=job_id).receipt["owed"]
    return owed


def test_messages_are_as_missing_ones_until_an_undo(
    management_api: ApiClient, team: Tenant, endpoint: Endpoint, hook: Receiver, user: User
) -> None:
    hook.answers = [Answer(500, {}, b"their glucose was 61")]
    event_id = emit(team, user_id=user.pk)
    pump()
    hook.answers = []
    for _ in range(2):
        emit(team)
        pump()
    with system_scope(SystemScope.DELIVERY):
        attempt_id = Attempt.objects.earliest("id").pk
        delivery_id = Delivery.objects.earliest("id").pk
    person, staff, base = visitor(team), superuser(), base_of(team)

    def listed(path: str) -> list[Any]:
        answer = management_api.get(f"{base}/{path}")
        assert answer.status_code == 200, answer.content
        assert answer.json()["next_cursor"] is None
        rows: list[Any] = answer.json()["data"]
        return rows

    def seen() -> dict[str, Any]:
        one = f"webhook_message/msg_{event_id}"
        return {
            "messages": len(listed("webhook_message")),
            "messages of the user": len(listed(f"webhook_message?user_id={user.pk}")),
            "message": management_api.get(f"{base}/{one}").status_code,
            "attempts of the message": management_api.get(f"{base}/{one}/attempt").status_code,
            "attempts": len(listed("webhook_attempt")),
            "attempts at the webhook": len(listed(f"webhook/{endpoint.pk}/attempt")),
            "portal messages": str(event_id) in person.get("/portal/messages").content.decode(),
            "portal message": person.get(f"/portal/message/{event_id}").status_code,
            "portal attempt": person.get(f"/portal/attempt/{attempt_id}").status_code,
            "admin list": str(event_id) in staff.get("/admin/webhooks/event/").content.decode(),
            "admin payload": staff.post(f"/admin/webhooks/event/{event_id}/payload/").status_code,
            "admin delivery": staff.get(f"/admin/webhooks/delivery/{delivery_id}/change/").status_code,
            "admin attempt": staff.get(f"/admin/webhooks/attempt/{attempt_id}/change/").status_code,
        }

    before = seen()
    assert list(before.values()) == [3, 1, 200, 200, 3, 3, True, 200, 200, True, 200, 200, 200]
    deleted(team, user)
    assert list(seen().values()) == [2, 0, 404, 404, 2, 2, False, 404, 404, False, 404, 302, 302]
    # A page is filled with what is shown.
    (newest,) = management_api.get(f"{base}/webhook_message?limit=1").json()["data"]
    assert newest["id"] != f"msg_{event_id}"
    undone(team, user)
    assert seen() == before


def test_nothing_is_sent_again_until_an_undo(
    management_api: ApiClient, team: Tenant, endpoint: Endpoint, hook: Receiver, user: User
) -> None:
    event_id = emit(team, user_id=user.pk)
    pump()
    with system_scope(SystemScope.DELIVERY):
        Delivery.objects.update(status=DeliveryStatus.FAILED.value)
    hook.received.clear()
    base = base_of(team)
    resend = f"{base}/webhook/{endpoint.pk}/message/msg_{event_id}/resend"
    deleted(team, user)
    later = endpoint_make(team, f"{hook.url}/later")
    assert management_api.post(resend).status_code == 404
    recover, replay = f"{base}/webhook/{endpoint.pk}/recover", f"{base}/webhook/{later.pk}/replay_missing"
    assert (repaired(management_api, recover), repaired(management_api, replay)) == (0, 0)
    assert (pump().attempted, hook.received) == (0, [])
    undone(team, user)
    assert (repaired(management_api, recover), repaired(management_api, replay)) == (1, 1)
    assert management_api.post(resend).status_code == 202
    assert pump().delivered == 2


def test_the_trail_says_whose_messages_were_listed_and_sent_again(
    management_api: ApiClient, team: Tenant, endpoint: Endpoint, hook: Receiver, user: User
) -> None:
    other, base = user_make(team), base_of(team)
    event_id = emit(team, user_id=user.pk)
    emit(team, user_id=other.pk)
    emit(team)
    pump()
    management_api.get(f"{base}/webhook_message")
    management_api.post(f"{base}/webhook/{endpoint.pk}/message/msg_{event_id}/resend")
    pump()
    with system_scope(SystemScope.DELIVERY):
        Delivery.objects.filter(event=event_id).update(status=DeliveryStatus.FAILED.value)
    recover = f"{base}/webhook/{endpoint.pk}/recover"
    replay = f"{base}/webhook/{endpoint_make(team, f'{hook.url}/later').pk}/replay_missing"
    assert (repaired(management_api, recover), repaired(management_api, replay)) == (1, 3)
    with team_scope(team.context):
        rows = AccessRecord.objects.for_team(team.context).order_by("pk")
        named = [(row.action.rpartition("/")[2], row.user_id, set(row.object_ids.get("user_ids", []))) for row in rows]
    both = {str(user.pk), str(other.pk)}
    assert named == [
        ("webhook_message", None, both),
        ("resend", user.pk, set()),
        ("recover", None, set()),
        ("send webhook messages again", None, {str(user.pk)}),
        ("replay_missing", None, set()),
        ("send webhook messages again", None, both),
    ]


def test_what_was_owed_at_the_deletion_is_delivered(
    team: Tenant, endpoint: Endpoint, hook: Receiver, user: User
) -> None:
    hook.answers = [Answer(503, {}, b"later")]
    emit(team, user_id=user.pk)
    pump()
    emit(team, user_id=user.pk)
    deleted(team, user)
    make_due()
    assert pump().delivered == 2
    assert {row.status for row in deliveries()} == {"delivered"}
