"""How the OpenAPI documents are made: security schemes, error answers, path parameters."""

from typing import Any

from django.conf import settings
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import is_list_serializer

from healthsvc.kernel.api import Access, ServiceViewSet
from healthsvc.kernel.errors import ErrorCode

_TEAM: list[dict[str, list[str]]] = [{"teamKey": []}, {"teamAccessToken": []}]
_SCHEMES: dict[Access, list[dict[str, list[str]]]] = {
    Access.TEAM: _TEAM,
    Access.MANAGEMENT: [{"managementKey": []}],
    Access.LINK_OR_TEAM: [*_TEAM, {"linkToken": []}],
    Access.LINK_ANY_OR_TEAM: [*_TEAM, {"linkToken": []}],
    Access.SESSION_OR_TEAM: [*_TEAM, {"deviceSession": []}],
}


class ServiceSchema(AutoSchema):
    """drf-spectacular's schema, with our declared access and our path parameters."""

    def get_auth(self) -> list[dict[str, Any]]:
        """The security requirement that the view's `access` means."""
        access = getattr(self.view, "access", None)
        return list(_SCHEMES.get(access, [])) if access else []

    def _is_list_view(self, serializer: Any = None) -> bool:
        """An action named `list` answers what it declares; our lists are objects with a page in them."""
        return is_list_serializer(serializer)

    def _resolve_path_parameters(self, variables: list[str]) -> list[dict[str, Any]]:
        return [self._path_parameter(name) for name in variables]

    def _path_parameter(self, name: str) -> dict[str, Any]:
        texts = self.view.text_parameters if isinstance(self.view, ServiceViewSet) else frozenset()
        schema: dict[str, Any] = {"type": "string"}
        if name.endswith("_id") and name not in texts:
            schema["format"] = "uuid"
        return {"in": "path", "name": name, "required": True, "schema": schema}


def add_error_answers(result: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
    """Post-processing: the security schemes, and the error answers every operation can give."""
    components = result.setdefault("components", {})
    components["securitySchemes"] = {
        "teamKey": _header_scheme(settings.TEAM_KEY_HEADERS[0]),
        "managementKey": _header_scheme(settings.MANAGEMENT_KEY_HEADERS[0]),
        "linkToken": _header_scheme(settings.LINK_TOKEN_HEADERS[0]),
        "deviceSession": {"type": "http", "scheme": "bearer"},
        "teamAccessToken": {
            "type": "http",
            "scheme": "bearer",
            "description": "A token of `create_api_access_token` at the management address; it lives for ten minutes.",
        },
    }
    components.setdefault("schemas", {}).update(_error_schemas())
    for operations in result.get("paths", {}).values():
        for operation in operations.values():
            _complete(operation)
    return result


def _header_scheme(name: str) -> dict[str, str]:
    return {"type": "apiKey", "in": "header", "name": name}


def _error_schemas() -> dict[str, Any]:
    problem = {
        "type": "object",
        "required": ["loc", "msg", "type"],
        "properties": {
            "loc": {"type": "array", "items": {"type": ["string", "integer"]}},
            "msg": {"type": "string"},
            "type": {"type": "string"},
        },
    }
    error = {
        "type": "object",
        "required": ["detail", "code", "request_id"],
        "properties": {
            "detail": {"description": "A sentence; an object or a list where the operation says so."},
            "code": {"type": "string", "enum": sorted(code.code for code in ErrorCode)},
            "request_id": {"type": "string"},
        },
    }
    invalid = {
        "allOf": [{"$ref": "#/components/schemas/Error"}],
        "properties": {"detail": {"type": "array", "items": {"$ref": "#/components/schemas/Problem"}}},
    }
    return {"Error": error, "Problem": problem, "ValidationError": invalid}


def _allow_empty(parameter: dict[str, Any]) -> None:
    """A query parameter that may be left out may be empty as well: it is taken for left out."""
    optional = parameter["in"] == "query" and not parameter.get("required")
    if optional and parameter["schema"].get("type") != "array":
        parameter["allowEmptyValue"] = True


def _complete(operation: dict[str, Any]) -> None:
    for parameter in operation.get("parameters", ()):
        _allow_empty(parameter)
    answers = operation.setdefault("responses", {})
    wanted = [ErrorCode.VALIDATION_FAILED, ErrorCode.INTERNAL, ErrorCode.UNAVAILABLE]
    if operation.get("security"):
        wanted += [
            ErrorCode.NOT_AUTHENTICATED,
            ErrorCode.NOT_ALLOWED,
            ErrorCode.NOT_FOUND,
            ErrorCode.CONFLICT,
            ErrorCode.RATE_LIMITED,
        ]
    if "requestBody" in operation:
        wanted += [ErrorCode.TOO_LARGE, ErrorCode.UNSUPPORTED_MEDIA_TYPE]
    for code in wanted:
        name = "ValidationError" if code is ErrorCode.VALIDATION_FAILED else "Error"
        schema = {"$ref": f"#/components/schemas/{name}"}
        answers.setdefault(
            str(code.status), {"description": code.meaning, "content": {"application/json": {"schema": schema}}}
        )
    operation["responses"] = dict(sorted(answers.items()))
