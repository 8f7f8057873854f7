"""Holds answers against the OpenAPI documents that the service serves."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson
from jsonschema import Draft202012Validator, FormatChecker

from healthsvc.documents import openapi_document

TEAM_URLCONF = "healthsvc.urls"
MANAGEMENT_URLCONF = "healthsvc.management_urls"


@lru_cache(maxsize=2)
def document(urlconf: str) -> dict[str, Any]:
    """The document of one address."""
    loaded: dict[str, Any] = orjson.loads(openapi_document(urlconf))
    return loaded


def document_path(route: str) -> str:
    """Django's `v2/user/<path:client_user_id>` as OpenAPI's `/v2/user/{client_user_id}`."""
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route)


@lru_cache(maxsize=2000)
def _validator(urlconf: str, path: str, method: str, status: str) -> Draft202012Validator | None:
    operation = document(urlconf)["paths"].get(path, {}).get(method)
    if operation is None:
        raise AssertionError(f"{method} {path} is not in the OpenAPI document.")
    answer = operation["responses"].get(status)
    if answer is None:
        raise AssertionError(f"{method} {path} does not document status {status}.")
    schema = answer.get("content", {}).get("application/json", {}).get("schema")
    if schema is None:
        return None
    whole = {**schema, "components": document(urlconf).get("components", {})}
    return Draft202012Validator(whole, format_checker=FormatChecker())


def check_documented(response: Any, method: str, at_management: bool) -> None:
    """Fail where the answer's status or JSON body is not what the document says."""
    match = response.wsgi_request.resolver_match
    if match is None or not response.get("Content-Type", "").startswith("application/json"):
        return
    if response.status_code == 405 or match.route in ("openapi.json", "docs") or match.route.startswith("admin/"):
        return
    urlconf = MANAGEMENT_URLCONF if at_management else TEAM_URLCONF
    path, verb = document_path(match.route), "get" if method == "HEAD" else method.lower()
    validator = _validator(urlconf, path, verb, str(response.status_code))
    if validator is None or response.streaming:
        return
    body = orjson.loads(response.content)
    errors = [f"{list(error.path)}: {error.message}" for error in validator.iter_errors(body)]
    assert not errors, f"{method} {path} {response.status_code}: {errors}"


def closed(schema: Any) -> Any:
    """A schema in which no object has a property that is not named.

    The document leaves objects open, since fields may be added to what they describe; what we send has none yet.
    """
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and "allOf" not in schema:
        inner.setdefault("additionalProperties", False)
    return inner


class EventSchemas:
    """The schemas of events in an OpenAPI document."""

    def __init__(self, whole: dict[str, Any]) -> None:
        self._webhooks = whole["webhooks"]
        self._components = {"components": {"schemas": closed(whole["components"]["schemas"])}}
        self._validators: dict[str, tuple[Draft202012Validator, Draft202012Validator]] = {}

    def schema(self, event_type: str) -> dict[str, Any]:
        """Of an event's body, as the document has it."""
        content = self._webhooks[event_type]["post"]["requestBody"]["content"]
        found: dict[str, Any] = content["application/json"]["schema"]
        return found

    def problems(self, body: Mapping[str, Any]) -> list[str]:
        """What of an event's body is not as the document says it, fields that it does not name included."""
        name = body["event_type"]
        if name not in self._validators:
            schema = self.schema(name)
            self._validators[name] = self._validator(schema), self._validator(closed(schema["properties"]["data"]))
        whole, data = self._validators[name]
        errors = [*whole.iter_errors(body), *data.iter_errors(body["data"])]
        return [f"{name} {list(error.absolute_path)}: {error.message}" for error in errors]

    def _validator(self, schema: dict[str, Any]) -> Draft202012Validator:
        return Draft202012Validator({**schema, **self._components}, format_checker=FormatChecker())


@lru_cache(maxsize=1)
def _event_schemas() -> EventSchemas:
    return EventSchemas(document(TEAM_URLCONF))


def event_schema(event_type: str) -> dict[str, Any]:
    """The schema of an event's body as our document has it."""
    return _event_schemas().schema(event_type)


def event_problems(body: Mapping[str, Any]) -> list[str]:
    """What of an event's body is not as our document says it."""
    return _event_schemas().problems(body)
