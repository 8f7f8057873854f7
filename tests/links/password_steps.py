"""Steps that tests of password and e-mail logins share."""

from datetime import UTC, datetime
from typing import Any

import orjson

from healthsvc.kernel.scope import team_scope
from links.catalogue import provider_find
from links.models import Connection
from links.services.tokens import link_token_create, link_token_find
from tests.clients import ApiClient
from tests.factories import Tenant
from tests.links.simulators import Simulator, call
from users.models import User

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
FIELDS = {
    "state", "redirect_url", "error_type", "error", "provider_mfa", "provider", "connected", "provider_id",
}  # fmt: skip
SECRET = "horse-battery-9"
_JSON = {"Content-Type": "application/json"}


def clock_set(simulator: Simulator, now: datetime) -> None:
    """Stop the simulator's clock."""
    call("POST", f"{simulator.url}/_control/clock", orjson.dumps({"now": now.isoformat()}).decode(), _JSON)


def token_text(tenant: Tenant, user: User, **values: Any) -> str:
    """A new link token."""
    with team_scope(tenant.context):
        return link_token_create(team=tenant.context, user_id=user.id, **values).token


def shown(text: str) -> dict[str, str]:
    """The link token's header."""
    return {"x_service_link_token": text}


def region_of(slug: str) -> dict[str, str]:
    """A region that the provider serves, where it serves several."""
    password = provider_find(slug).password
    return {"region": password.regions[0]} if password and password.regions else {}


def login_body(slug: str, username: str = "ada@example.com", **values: Any) -> dict[str, Any]:
    """A login that works unless the name says otherwise."""
    return {"username": username, "password": "simulator", **region_of(slug), **values}


def logged_in(widget: ApiClient, text: str, slug: str, username: str = "ada@example.com", **values: Any) -> Any:
    """The answer to a login with a link token."""
    answer = widget.post(f"/v2/link/provider/password/{slug}", login_body(slug, username, **values), **shown(text))
    assert answer.status_code == 200, answer.content
    return answer.json()


def code_given(widget: ApiClient, text: str, slug: str, code: str = "123456") -> Any:
    """The answer to a code with a link token."""
    path = f"/v2/link/provider/password/{slug}/complete_mfa"
    answer = widget.post(path, {"mfa_code": code}, **shown(text))
    assert answer.status_code == 200, answer.content
    return answer.json()


def connections(tenant: Tenant) -> list[Connection]:
    """Every connection of the team, the newest last."""
    with team_scope(tenant.context):
        return list(Connection.objects.order_by("created_at", "id"))


def status_of(text: str) -> str:
    """A link token's status."""
    token = link_token_find(text)
    assert token is not None
    return token.status


def failed(answer: Any) -> tuple[str, str]:
    """State and error type of an answer."""
    return answer["state"], answer["error_type"]
