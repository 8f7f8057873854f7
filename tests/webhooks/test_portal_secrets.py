"""Secrets and custom headers at the portal: shown when asked for, never by the way, and replaced."""

from typing import Any

import pytest
from django.test import Client

from healthsvc.kernel.scope import team_scope
from tests.factories import Tenant
from tests.webhooks.conftest import endpoint_make
from tests.webhooks.portal_visiting import text_of, visitor
from tests.webhooks.receiving import Receiver
from webhooks import services
from webhooks.models import Endpoint

BEFORE = {"Authorization": "Bearer very-hidden", "X-Region": "eu"}
OWN = "whsec_" + "A" * 43 + "="


@pytest.fixture
def portal(team: Tenant) -> Client:
    """A visit of our team's."""
    return visitor(team)


@pytest.fixture
def at(team: Tenant, hook: Receiver) -> str:
    """The address of our endpoint, which has a secret header and a plain one."""
    endpoint = endpoint_make(team, f"{hook.url}/hook")
    with team_scope(team.context):
        services.endpoint_headers_put(team=team.context, endpoint_id=endpoint.id, headers=BEFORE)
    return f"/portal/endpoint/{endpoint.id}"


def found(tenant: Tenant) -> Endpoint:
    """The endpoint as it is now."""
    with team_scope(tenant.context):
        return Endpoint.objects.get()


def test_the_secret_is_shown_by_a_form_alone(portal: Client, team: Tenant, at: str) -> None:
    secret = found(team).secret
    for part in ("", "/edit", "/headers", "/secret", "/secret/rotate", "/send", "/delete"):
        assert secret not in text_of(portal, f"{at}{part}"), part
    assert secret not in text_of(portal, "/portal/")
    shown = portal.post(f"{at}/secret")
    assert (shown.status_code, shown["Cache-Control"]) == (200, "no-store")
    assert secret in shown.content.decode()
    assert secret not in text_of(portal, f"{at}/secret")


def test_the_secret_is_replaced_with_the_overlap_chosen(portal: Client, team: Tenant, at: str) -> None:
    first = found(team).secret
    assert portal.post(f"{at}/secret/rotate", {"overlap": "86400"})["Location"] == f"{at}/secret?told=rotated"
    second = found(team)
    assert second.secret != first
    assert [item["key"] for item in second.secrets_before] == [first]
    assert "1 secret from before signs along" in text_of(portal, f"{at}/secret")
    portal.post(f"{at}/secret/rotate", {"overlap": "0", "key": OWN})
    assert (found(team).secret, found(team).secrets_before) == (OWN, [])


@pytest.mark.parametrize(
    ("sent", "field"),
    [({}, "overlap"), ({"overlap": "5"}, "overlap"), ({"overlap": "0", "key": "whsec_short"}, "key")],
)
def test_a_refused_replacement_replaces_nothing(
    portal: Client, team: Tenant, at: str, sent: dict[str, str], field: str
) -> None:
    before = found(team).secret
    answer = portal.post(f"{at}/secret/rotate", sent)
    assert (answer.status_code, set(answer.context["errors"])) == (422, {field})
    assert "whsec_short" not in answer.content.decode()
    assert found(team).secret == before


def lines(**changes: Any) -> dict[str, Any]:
    """The form of headers as it is sent when nothing was touched."""
    return {"name": ["Authorization", "X-Region", "", ""], "value": ["", "eu", "", ""], **changes}


def test_the_value_of_a_secret_header_is_never_shown(portal: Client, at: str) -> None:
    page = text_of(portal, f"{at}/headers")
    assert "very-hidden" not in page
    assert ("Authorization" in page, 'value="eu"' in page) == (True, True)
    refused = portal.post(f"{at}/headers", lines(value=["new-and-hidden\x01", "eu", "", ""]))
    assert refused.status_code == 422
    assert "new-and-hidden" not in refused.content.decode()


def test_headers_left_alone_stay(portal: Client, team: Tenant, at: str) -> None:
    assert portal.post(f"{at}/headers", lines())["Location"] == f"{at}?told=headers"
    assert found(team).headers == BEFORE


def test_headers_are_replaced_added_and_removed(portal: Client, team: Tenant, at: str) -> None:
    names = ["Authorization", "X-Region", "X-Shard", ""]
    portal.post(f"{at}/headers", lines(name=names, value=["Bearer other", "us", "7", ""]))
    assert found(team).headers == {"Authorization": "Bearer other", "X-Region": "us", "X-Shard": "7"}
    names = ["Authorization", "X-Region", "X-Shard", ""]
    portal.post(f"{at}/headers", lines(name=names, value=["", "us", "7", ""], remove=["0", "2"]))
    assert found(team).headers == {"X-Region": "us"}


def test_a_header_is_made_secret(portal: Client, team: Tenant, at: str) -> None:
    portal.post(f"{at}/headers", lines(sensitive=["1"]))
    assert found(team).headers == BEFORE
    page = text_of(portal, f"{at}/headers")
    assert ('value="eu"' in page, "X-Region" in page) == (False, True)


def test_a_header_that_came_meanwhile_stays(portal: Client, team: Tenant, at: str) -> None:
    with team_scope(team.context):
        services.endpoint_headers_patch(team=team.context, endpoint_id=found(team).id, changes={"X-Later": "1"})
    portal.post(f"{at}/headers", lines(value=["", "us", "", ""]))
    assert found(team).headers == {**BEFORE, "X-Region": "us", "X-Later": "1"}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("Content-Type", "text/plain", "set by the service"),
        ("webhook-id", "1", "set by the service"),
        ("X-Line", "one\r\ntwo: 2", "visible ASCII"),
        ("X-Empty", "", "visible ASCII"),
        ("No Name", "1", "not that of a header"),
        ("", "1", "not that of a header"),
        ("x-region", "us", "twice"),
    ],
)
def test_a_mistake_in_a_header_is_told_and_changes_nothing(
    portal: Client, team: Tenant, at: str, name: str, value: str, words: str
) -> None:
    sent = lines(name=["Authorization", "X-Region", name, ""], value=["", "us", value, ""])
    answer = portal.post(f"{at}/headers", sent)
    page = answer.content.decode()
    assert answer.status_code == 422
    assert words in page
    # What else was typed is kept.
    assert 'value="us"' in page
    assert found(team).headers == BEFORE
