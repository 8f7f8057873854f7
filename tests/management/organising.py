"""What tests of the management address share: its addresses, and calls at the same moment."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Barrier
from typing import Any, Final
from uuid import UUID

from django.db import connection

from healthsvc.kernel.errors import ServiceError
from healthsvc.kernel.principal import Role
from management.models import Organisation, OrganisationRecord
from tests import factories
from tests.clients import ApiClient

#: An action that takes longer than this waits for a lock.
_WAITS_FOR_US_SECONDS: Final = 0.5


def base(organisation: Organisation) -> str:
    """The organisation's address."""
    return f"/v1/org/{organisation.pk}"


def team_path(tenant: factories.Tenant) -> str:
    """The team's address."""
    return f"/v1/org/{tenant.team.organisation_id}/team/{tenant.team.pk}"


def bound_client(organisation: Organisation, *team_ids: UUID) -> ApiClient:
    """A client with a team_admin key of these teams."""
    key = factories.management_key_make(organisation, role=Role.TEAM_ADMIN.value, team_ids=list(team_ids))
    return ApiClient(management_key=key)


def trail(organisation: Organisation) -> list[tuple[str, dict[str, str]]]:
    """What the organisation's trail holds, oldest first: action and ids."""
    rows = OrganisationRecord.objects.filter(organisation=organisation).order_by("pk")
    return list(rows.values_list("action", "object_ids"))


def locs(response: Any) -> list[tuple[list[Any], str]]:
    """Where a 422 says something is wrong, and of which kind."""
    assert response.status_code == 422, response.content
    return [(problem["loc"], problem["type"]) for problem in response.json()["detail"]]


def together(*actions: Callable[[], Any]) -> list[Any]:
    """What the actions answer, called at the same moment; a refusal's code where one refuses."""
    barrier = Barrier(len(actions))

    def run(action: Callable[[], Any]) -> Any:
        try:
            barrier.wait(10)
            return action()
        except ServiceError as error:
            return error.code.code
        finally:
            connection.close()

    with ThreadPoolExecutor(len(actions)) as pool:
        return list(pool.map(run, actions))


def meanwhile(action: Callable[[], Any]) -> Callable[[], Any]:
    """Begin the action on a connection of its own and wait for it; not for longer where it waits for us.

    What comes back answers what became of it, or a refusal's code, once we are done.
    """
    pool = ThreadPoolExecutor(1)

    def run() -> Any:
        try:
            return action()
        except ServiceError as error:
            return error.code.code
        finally:
            connection.close()

    begun = pool.submit(run)
    wait([begun], timeout=_WAITS_FOR_US_SECONDS)

    def ended() -> Any:
        try:
            return begun.result(10)
        finally:
            pool.shutdown()

    return ended
