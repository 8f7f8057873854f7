"""A vendor's endpoints whose answers a test writes in advance, and a registration there."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs

import orjson

from links.catalogue import Provider, provider_get
from links.connectors.oauth import Application
from tests.webhooks.receiving import Answer, Receiver, Request


def json_answer(document: Any, status: int = 200) -> Answer:
    """A JSON answer."""
    return Answer(status, {"Content-Type": "application/json"}, orjson.dumps(document))


def form_of(request: Request) -> Mapping[str, str]:
    """The form that was posted, one value a name."""
    found = parse_qs(request.body.decode(), keep_blank_values=True)
    assert all(len(values) == 1 for values in found.values())
    return {name: values[0] for name, values in found.items()}


def provider_make(slug: str = "oura", **oauth: Any) -> Provider:
    """A provider of the catalogue with other OAuth manners."""
    provider = provider_get(slug)
    assert provider.oauth is not None
    return replace(provider, oauth=replace(provider.oauth, **oauth))


def application_make(vendor: Receiver, slug: str = "oura", **oauth: Any) -> Application:
    """A registration whose addresses are the receiver's."""
    provider = provider_make(slug, **oauth)
    assert provider.oauth is not None
    return Application(
        provider=provider,
        oauth=provider.oauth,
        client_id="our client/1",
        client_secret="s%cr:t é",
        authorize_url="https://vendor.example/authorize",
        token_url=f"{vendor.url}/token",
        api_url=vendor.url,
        revoke_url=f"{vendor.url}/revoke",
    )
