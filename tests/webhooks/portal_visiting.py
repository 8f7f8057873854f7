"""Going to the portal as a person of the team's does: a link is made, opened, and its cookie kept."""

from typing import Any
from urllib.parse import urlsplit

from django.test import Client

from healthsvc.kernel.principal import PrincipalKind
from healthsvc.kernel.scope import team_scope
from tests.factories import Tenant
from webhooks.models import PortalSession
from webhooks.services.portal import portal_link_make


def link_make(tenant: Tenant) -> str:
    """A new link's path and query."""
    with team_scope(tenant.context):
        url = portal_link_make(team=tenant.context, made_by_kind=PrincipalKind.TEAM_KEY, made_by_id="test").url
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}"


def link_open(client: Client, link: str) -> int:
    """Look at a link and press its button; the status of the page that is reached."""
    client.get(link)
    client.get("/portal/open")
    return client.get(client.post("/portal/open")["Location"]).status_code


def visitor(tenant: Tenant) -> Client:
    """A browser with a session of the team's."""
    client = Client()
    link_open(client, link_make(tenant))
    return client


def session_change(tenant: Tenant, **values: Any) -> None:
    """Change the team's links and sessions."""
    with team_scope(tenant.context):
        PortalSession.objects.update(**values)


def text_of(client: Client, path: str) -> str:
    """A page's HTML; the page must be there."""
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()
