"""Steps that tests of devices share: making a code or token, signing in, pushing as a telephone."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING, Any, TypeVar

from django.db import connection

from healthsvc.kernel.scope import team_scope
from links.services.device_connections import device_connect
from tests.clients import ApiClient
from tests.factories import Tenant
from users.models import User

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.test.client import _MonkeyPatchedWSGIResponse as Answer

T = TypeVar("T")
Body = dict[str, Any]


def sign_in_token(api: ApiClient, user: User) -> str:
    """A new sign-in token."""
    answer = api.post(f"/v2/user/{user.id}/sign_in_token")
    assert answer.status_code == 200, answer.content
    text: str = answer.json()["sign_in_token"]
    return text


def session_of(api: ApiClient, user: User) -> Body:
    """A session's first pair."""
    answer = ApiClient().post("/v2/session/exchange", {"sign_in_token": sign_in_token(api, user)})
    assert answer.status_code == 200, answer.content
    pair: Body = answer.json()
    return pair


def device(pair: Body) -> ApiClient:
    """A telephone that holds the pair."""
    client = ApiClient()
    client.headers["Authorization"] = f"Bearer {pair['access_token']}"
    return client


def refresh(pair: Body) -> "Answer":
    """The answer to a refresh."""
    return ApiClient().post("/v2/session/refresh", {"refresh_token": pair["refresh_token"]})


def link(tenant: Tenant, user: User, provider: str = "apple_health_kit", provider_id: str = "") -> None:
    """Connect a provider without a login."""
    with team_scope(tenant.context):
        device_connect(team=tenant.context, user_id=user.id, provider=provider, provider_id=provider_id)


def at_once(count: int, act: "Callable[[int], T]") -> list[T]:
    """What `act` gives in threads that start together."""
    gate = Barrier(count)

    def run(number: int) -> T:
        try:
            gate.wait()
            return act(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))
