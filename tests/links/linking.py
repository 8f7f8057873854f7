"""Steps that link tests share: making a token, opening it in a browser, connecting a provider."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.test import Client

from healthsvc.kernel.scope import team_scope
from links.models import Connection
from links.services.tokens import link_token_create
from tests.factories import Tenant
from tests.links.simulators import Person
from users.models import User


def path_of(url: str) -> str:
    """Path and query of an address."""
    parts = urlsplit(url)
    return parts.path + (f"?{parts.query}" if parts.query else "")


def query_of(url: str) -> dict[str, str]:
    """The query of an address, one value a name."""
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query, keep_blank_values=True).items()}


def token_make(tenant: Tenant, user: User, **values: Any) -> str:
    """The page that a new link token opens, as path and query."""
    with team_scope(tenant.context):
        return path_of(link_token_create(team=tenant.context, user_id=user.id, **values).web_url)


def browser() -> Client:
    """A browser without cookies."""
    return Client(raise_request_exception=True)


def opened(client: Client, page: str) -> str:
    """The first page's address after the token left the address bar."""
    response = client.get(page)
    assert response.status_code == 303, response.content
    location: str = response["Location"]
    return location


def told_by(client: Client, answer: Any) -> str:
    """The page that a form's answer leads to. Never a page in place: the way back would want to send the form again."""
    assert answer.status_code == 303, answer.content
    shown = client.get(answer["Location"])
    assert shown.status_code == 200
    body: str = shown.content.decode()
    return body


def departed(client: Client, session_page: str, slug: str) -> str:
    """The provider's address after choosing it and continuing."""
    response = client.get(f"{session_page}/provider/{slug}/continue")
    assert response.status_code == 303, response.content
    location: str = response["Location"]
    return location


def connected(tenant: Tenant, user: User, slug: str, person: Person | None = None, **decision: Any) -> Connection:
    """A connection made by the whole flow."""
    client, who = browser(), person or Person(account=f"{user.client_user_id}@example.com")
    back = who.decide(departed(client, opened(client, token_make(tenant, user)), slug), **decision)
    client.get(path_of(back))
    with team_scope(tenant.context):
        return Connection.objects.get(user_id=user.id, provider=slug)
