"""Steps that tests of deletion share: deleting, letting the days pass, erasing."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID

import time_machine

from healthsvc.kernel import clock
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from tests.factories import Tenant
from users.constants import ERASURE_GRACE_SECONDS
from users.models import Erasure
from users.services import deletion
from users.services.erasure import erasure_run


def deleted(tenant: Tenant, user_id: UUID) -> Erasure:
    """The erasure that a deletion owes."""
    with team_scope(tenant.context):
        return deletion.user_delete(team=tenant.context, user_id=user_id)


@contextmanager
def later(seconds: float) -> Iterator[None]:
    """The clock so much later, and running on."""
    with time_machine.travel(clock.now() + timedelta(seconds=seconds)):
        yield


@contextmanager
def after_grace() -> Iterator[None]:
    """A second after the last one at which a deletion of now can be undone."""
    with later(ERASURE_GRACE_SECONDS + 1):
        yield


def reloaded(erasure: Erasure) -> Erasure:
    """The row as it is now."""
    with system_scope(SystemScope.PURGE):
        return Erasure.objects.get(pk=erasure.pk)


def erased(tenant: Tenant, user_id: UUID) -> Erasure:
    """Delete a user, let the days pass, and erase them; the row with its receipt."""
    erasure = deleted(tenant, user_id)
    with after_grace():
        erasure_run(erasure_id=erasure.pk)
    return reloaded(erasure)
