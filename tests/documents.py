"""Holds answers against the OpenAPI documents that the service serves."""

import re
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
