"""A user deleted while a message about them is on its way: it arrives, and nothing of it is left after the erasure."""

import threading

import orjson
import pytest
from django.db import connections
from pytest_django import Settings

from healthsvc.kernel.scope import SystemScope, system_scope
from tests import factories
from tests.users.erasing import after_grace, deleted, reloaded
from tests.webhooks.conftest import emit, endpoint_make, pump
from tests.webhooks.receiving import receiver
from users.services.erasure import erasure_run
from webhooks.models import Delivery, Event


@pytest.mark.django_db(transaction=True)
def test_a_message_on_its_way_arrives_and_is_erased(settings: Settings) -> None:
    tenant = factories.tenant_make()
    user = factories.user_make(tenant)
    with receiver() as hook:
        settings.LOOPBACK_ORIGINS = [hook.url]
        endpoint_make(tenant, f"{hook.url}/slow")
        hook.slow_paths = {"/slow"}
        emit(tenant, user_id=user.id)
        emit(tenant)

        def pumping() -> None:
            try:
                pump()
            finally:
                connections.close_all()

        thread = threading.Thread(target=pumping)
        thread.start()
        while not hook.received:
            threading.Event().wait(0.01)
        erasure = deleted(tenant, user.id)
        hook.let_go.set()
        thread.join(30)
        assert len(hook.received) == 2
    with system_scope(SystemScope.PURGE):
        assert list(Delivery.objects.values_list("status", flat=True)) == ["delivered"] * 2
        assert Event.objects.filter(user_id=user.id).exclude(body=None).count() == 1
    with after_grace():
        erasure_run(erasure_id=erasure.pk)
    done = reloaded(erasure)
    assert done.rows_erased == {"webhooks_event": 1, "users_user": 1}
    said = orjson.loads(done.receipt)
    assert (said["rows_erased"], said["rows_emptied"]) == ({"users_user": 1}, {"webhooks_event": 1})
    with system_scope(SystemScope.PURGE):
        assert sorted((event.user_id, event.body is None) for event in Event.objects.all()) == [
            (None, False),
            (None, True),
        ]
        Event.objects.update(body=None)
