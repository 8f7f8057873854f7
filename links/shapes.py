"""Connections as the API and events show them."""

from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.typing import JSONObject, JSONValue
from links import selectors
from links.catalogue import ResourceScopes, provider_find
from links.models import Connection


def provider_json(slug: str) -> JSONObject:
    """A provider as others show it."""
    return {"name": provider_find(slug).name, "slug": slug, "logo": selectors.logo_url(slug)}


def connection_json(connection: Connection) -> JSONObject:
    """A connected provider, as `GET /v2/user/providers/{user_id}` lists it."""
    return {
        **provider_json(connection.provider),
        "created_on": utc_text(connection.created_at),
        "status": connection.status,
        "external_user_id": connection.external_user_id or None,
        "error_details": error_details_json(connection),
        "resource_availability": availability_json(connection),
    }


def error_details_json(connection: Connection) -> JSONObject | None:
    """Why a connection is broken; None for one that works."""
    if connection.errored_at is None:
        return None
    return {
        "error_type": connection.error_type,
        "error_message": selectors.error_message(connection),
        "errored_at": utc_text(connection.errored_at),
    }


def availability_json(connection: Connection) -> JSONObject:
    """Each resource of the provider, with the scopes the person gave and refused."""
    found = selectors.availability_of(connection.provider, connection.scopes_granted)
    return {
        name: {
            "status": "available" if one.available else "unavailable",
            "scope_requirements": {"user_granted": _scopes(one.granted), "user_denied": _scopes(one.denied)},
        }
        for name, one in found.items()
    }


def _scopes(scopes: ResourceScopes) -> JSONValue:
    return {"required": list(scopes.required), "optional": list(scopes.optional)}
