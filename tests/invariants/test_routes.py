"""Rules about every route: who may call it, and that the documents tell the truth."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module

import orjson
import pytest
from django.urls import URLPattern, URLResolver
from openapi_spec_validator import validate

from healthsvc import documents
from healthsvc.kernel.api import Access, ServiceViewSet
from tests.clients import ApiClient
from tests.documents import MANAGEMENT_URLCONF, TEAM_URLCONF, document, document_path
from tests.factories import Tenant

SOME_ID = "00000000-0000-4000-8000-000000000000"
#: Open to everyone, each for a reason.
PUBLIC_ROUTES = {
    "healthz": "load balancers ask without a key",
    "readyz": "operators ask without a key",
    "v2/link/code/exchange": "the code is the credential",
    "v2/link/start": "the link token in the body is the credential",
    "v2/link/token/isValid": "a widget in a browser has no key; only who holds the token can ask",
    "v2/session/exchange": "the sign-in token in the body is the credential",
    "v2/session/refresh": "the refresh token in the body is the credential",
    "v2/session/revoke": "the refresh token in the body is the credential",
}


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one address."""

    urlconf: str
    route: str
    method: str
    view: type[ServiceViewSet]

    @property
    def path(self) -> str:
        """The address with something in each place."""
        return "/" + re.sub(r"<(?:\w+:)?(\w+)>", SOME_ID, self.route)

    def __str__(self) -> str:
        return f"{self.method} /{self.route}"


def _patterns(urlconf: str) -> Iterator[tuple[str, URLPattern]]:
    def walk(prefix: str, items: list[URLPattern | URLResolver]) -> Iterator[tuple[str, URLPattern]]:
        for item in items:
            if isinstance(item, URLResolver):
                yield from walk(prefix + str(item.pattern), item.url_patterns)
            else:
                yield prefix + str(item.pattern), item

    yield from walk("", import_module(urlconf).urlpatterns)


def routes() -> list[Route]:
    """Every method of every API route at both addresses."""
    found = []
    for urlconf in (TEAM_URLCONF, MANAGEMENT_URLCONF):
        for route, pattern in _patterns(urlconf):
            view = getattr(pattern.callback, "cls", None)
            if view is not None and issubclass(view, ServiceViewSet):
                found += [Route(urlconf, route, method.upper(), view) for method in vars(pattern.callback)["actions"]]
    return found


ROUTES = routes()


def _client(route: Route, **keys: str) -> ApiClient:
    return ApiClient(at="management" if route.urlconf == MANAGEMENT_URLCONF else "team", **keys)


@pytest.mark.parametrize("route", [item for item in ROUTES if item.route not in PUBLIC_ROUTES], ids=str)
def test_every_route_without_a_key_is_401(db: None, route: Route) -> None:
    response = _client(route).request(route.method, route.path)
    assert (response.status_code, response.json()["code"]) == (401, "not_authenticated")


def test_public_routes_are_those_with_a_reason() -> None:
    public = {item.route for item in ROUTES if item.view.access is Access.PUBLIC}
    assert public == set(PUBLIC_ROUTES)


def test_every_view_declares_who_it_is_open_to() -> None:
    assert [str(item) for item in ROUTES if item.view.access is None] == []


def test_a_view_that_declares_nothing_is_open_to_nobody(api: ApiClient) -> None:
    from rest_framework.test import APIRequestFactory

    class Undeclared(ServiceViewSet):
        def list(self, request: object) -> None:
            raise AssertionError("reached")

    request = APIRequestFactory().get("/", headers=api.headers)
    response = Undeclared.as_view({"get": "list"})(request)
    assert response.status_code == 403


@pytest.mark.parametrize("route", [item for item in ROUTES if "_id>" in item.route], ids=str)
def test_malformed_ids_are_422_for_every_route(team: Tenant, management_api: ApiClient, route: Route) -> None:
    names = re.findall(r"<(?:\w+:)?(\w+_id)>", route.route)
    if not set(names) - route.view.text_parameters:
        return
    path = "/" + re.sub(r"<(?:\w+:)?(\w+)>", "not-a-uuid", route.route)
    client = management_api if route.urlconf == MANAGEMENT_URLCONF else ApiClient(team_key=team.key)
    response = client.request(route.method, path)
    assert response.status_code in ({401, 422} if route.view.access is Access.LINK_OR_TEAM else {422})


@pytest.mark.parametrize("urlconf", [TEAM_URLCONF, MANAGEMENT_URLCONF])
def test_documents_are_valid_openapi_3_1(urlconf: str) -> None:
    validate(document(urlconf))
    assert document(urlconf)["openapi"].startswith("3.1")


@pytest.mark.parametrize("urlconf", [TEAM_URLCONF, MANAGEMENT_URLCONF])
def test_every_route_is_documented_and_nothing_else(urlconf: str) -> None:
    documented = {
        (path, method.upper()) for path, operations in document(urlconf)["paths"].items() for method in operations
    }
    served = {(document_path(item.route), item.method) for item in ROUTES if item.urlconf == urlconf}
    assert documented == served


@pytest.mark.parametrize("urlconf", [TEAM_URLCONF, MANAGEMENT_URLCONF])
def test_every_operation_is_named_once_and_described(urlconf: str) -> None:
    operations = [item for path in document(urlconf)["paths"].values() for item in path.values()]
    names = [item["operationId"] for item in operations]
    assert len(names) == len(set(names))
    assert [item["operationId"] for item in operations if not item.get("summary") or not item.get("tags")] == []


def test_documents_are_the_same_each_time() -> None:
    first = documents.openapi_document(TEAM_URLCONF)
    documents._document.cache_clear()
    assert orjson.loads(documents.openapi_document(TEAM_URLCONF)) == orjson.loads(first)


def test_threads_that_ask_for_the_document_at_once_all_get_it() -> None:
    documents._document.cache_clear()
    with ThreadPoolExecutor(4) as pool:
        made = set(pool.map(documents.openapi_document, [TEAM_URLCONF] * 4))
    assert len(made) == 1
