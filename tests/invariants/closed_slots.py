"""Where a request names objects: found in the OpenAPI documents, so that a new operation is asked for by itself."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from tests.documents import document, document_path
from tests.invariants.closed_bodies import BODIES, PLACES, QUERIES
from tests.invariants.test_routes import Route

Schema = dict[str, Any]

#: What the names of parameters and fields mean, and in single operations where it is something else.
KINDS: Final = {
    "actor_id": "actor",
    "api_key_id": "team_key",
    "channel": "channel",
    "client_user_id": "client_user",
    "code": "link_code",
    "device_id": "device",
    "erasure_id": "erasure",
    "export_id": "export",
    "integration_team_id": "integration_team",
    "invite_id": "invite",
    "job_id": "job",
    "key_id": "management_key",
    "link_token": "link_token",
    "member_id": "member",
    "message_id": "message",
    "org_id": "organisation",
    "payor_code": "payor",
    "query_id": "client_user",
    "refresh_token": "refresh_token",
    "session_id": "session",
    "sign_in_token": "sign_in_token",
    "sleep_id": "sleep",
    "team_id": "team",
    "token": "link_token",
    "user_id": "user",
    "user_ids": "user",
    "webhook_id": "webhook",
    "workout_id": "workout",
}
KINDS_HERE: Final = {
    "GET /v2/user/<user_id>/export/<export_id>/download token": "export_token",
    "GET /v1/org/<org_id>/team/<team_id>/<environment>/webhook_repair/<job_id> job_id": "repair",
    "POST /v1/org/<org_id>/team/<team_id>/undo_delete team_id": "deleted_team",
    "POST /v2/user/undo_delete user_id": "deleted_user",
    "POST /v2/user/undo_delete client_user_id": "deleted_client_user",
}
#: What a list's cursor is the id of, by the last word of its path.
CURSORS: Final = {
    "<region>": "team_key",
    "access_record": "access_record",
    "attempt": "attempt",
    "erasure": "erasure",
    "export": "export",
    "invite": "invite",
    "management_key": "management_key",
    "member": "member",
    "organisation_record": "organisation_record",
    "sessions": "session",
    "webhook": "webhook",
    "webhook_attempt": "attempt",
    "webhook_message": "event",
}
#: Names that look like an object's and are none of the service's, each with its reason.
PLAIN: Final = {
    "POST /v1/org/<org_id>/team/<team_id>/<environment>/webhook/<webhook_id>/secret/rotate key": "a secret of its own",
    "batch_id": "the sender's own name for a batch; of one user",
    "connections.access_token": "a vendor's",
    "connections.provider_id": "a vendor's",
    "connections.refresh_token": "a vendor's",
    "cursor": "a place in the caller's own list",
    "group_id": "an insurer's",
    "POST /v2/user/<user_id>/insurance member_id": "an insurer's",
    "mfa_code": "what a person types of a vendor's message",
    "next_cursor": "a place in the caller's own list",
    "next_token": "a place in the caller's own list",
    "POST /v1/org/<org_id>/team id": "the id that the new team shall have: one that is taken can't be given twice",
    "POST /v1/org/<org_id>/team integration_team_id": "the customer's own name for the new team",
    "PATCH /v1/org/<org_id>/team/<team_id> integration_team_id": "the customer's own name for the team",
    "PATCH /v2/user/<user_id> client_user_id": "the customer's own name for the user",
    "POST /v2/user client_user_id": "the customer's own name for the new user",
    "provider_id": "a vendor's account, or a clearing house's",
    "provider_payor_id": "a clearing house's",
    "request_id": "a request's own name",
    "status_code": "HTTP's",
    "source.app_id": "the sender's own",
    "source.device_id": "the sender's own",
}
_OBJECTS_NAME: Final = re.compile(r"(^|_)(ids?|cursor|token|(?<!zip_)code|key)$")


@dataclass(frozen=True, slots=True)
class Slot:
    """One place of a request where an object's id stands. `path` leads to it through a body's fields."""

    place: str
    name: str
    kind: str
    required: bool

    def __str__(self) -> str:
        return f"{self.place} {self.name}"

    @property
    def is_cursor(self) -> bool:
        """Whether it is a place in a list, told by the id of a row."""
        return self.kind.endswith("_cursor")


class UnknownSlotError(AssertionError):
    """A parameter or field that looks like an object's id, and that nobody has said the meaning of."""


@lru_cache(maxsize=2000)
def slots_of(route: Route) -> tuple[Slot, ...]:
    """Every slot of an operation, in its path, its query and its body."""
    found = []
    for parameter in _operation(route).get("parameters", []):
        name, place = parameter["name"], parameter["in"]
        kind = _kind(route, name, name, parameter["schema"])
        if kind and place in ("path", "query"):
            given = place == "path" or parameter.get("required", False)
            found.append(Slot(place, name, kind, given))
        elif place == "path" and name not in PLACES:
            raise UnknownSlotError(f"{route}: closed_bodies.PLACES does not say what stands in <{name}>")
        elif place == "query" and parameter.get("required") and name not in QUERIES:
            raise UnknownSlotError(f"{route}: closed_bodies.QUERIES does not say what is asked with ?{name}=")
    return (*found, *_body_slots(route))


def _operation(route: Route) -> dict[str, Any]:
    found: dict[str, Any] = document(route.urlconf)["paths"][document_path(route.route)][route.method.lower()]
    return found


@lru_cache(maxsize=2000)
def body_schema(route: Route) -> Schema | None:
    """The schema of an operation's JSON body; None where it takes none."""
    content = _operation(route).get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema")
    return resolved(route, schema) if schema is not None else None


def resolved(route: Route, schema: Schema) -> Schema:
    """A schema without references and without the `null` beside it."""
    while True:
        if "$ref" in schema:
            schema = document(route.urlconf)["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        elif len(schema.get("allOf", [])) == 1:
            schema = schema["allOf"][0]
        elif "oneOf" in schema or "anyOf" in schema:
            schema = next(one for one in schema.get("oneOf") or schema["anyOf"] if one.get("type") != "null")
        else:
            return schema


def sample_body(route: Route) -> Any:
    """A body for an operation: the one that is written down for it, or one made of its schema."""
    if str(route) in BODIES:
        return BODIES[str(route)]
    schema = body_schema(route)
    return None if schema is None else _sample(route, schema)


def _sample(route: Route, schema: Schema) -> Any:
    schema = resolved(route, schema)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object")
    if "array" in kind:
        return [_sample(route, schema["items"])]
    if "object" in kind:
        properties, required = schema.get("properties", {}), schema.get("required", [])
        return {name: PLACES.get(name) or _sample(route, properties[name]) for name in required}
    formats = {
        "date": "2026-01-01",
        "date-time": "2026-01-01T00:00:00Z",
        "email": "somebody@example.com",
        "uri": "https://example.com/",
        "uuid": "00000000-0000-4000-8000-000000000000",
    }
    plain: dict[str, Any] = {"integer": schema.get("minimum", 1), "number": schema.get("minimum", 1), "boolean": False}
    return next((plain[one] for one in plain if one in kind), formats.get(schema.get("format", ""), "text"))


def query_names(route: Route) -> list[str]:
    """The query parameters of an operation that must be given and name no object."""
    named = {slot.name for slot in slots_of(route)}
    return [
        one["name"]
        for one in _operation(route).get("parameters", [])
        if one["in"] == "query" and one.get("required") and one["name"] not in named
    ]


def placed(route: Route, body: Any, slot: Slot, value: str) -> None:
    """Put a value into the slot of a body, with what has to stand around it."""
    schema = body_schema(route)
    *outer, last = slot.name.split(".")
    for name in outer:
        inner = resolved(route, (schema or {})["properties"][name])
        if not body.get(name):
            body[name] = _sample(route, inner)
        body, schema = body[name], inner
        if isinstance(body, list):
            body, schema = body[0], resolved(route, inner["items"])
    kind = resolved(route, (schema or {})["properties"][last]).get("type", "")
    body[last] = [value] if "array" in kind else value


def _body_slots(route: Route) -> list[Slot]:
    schema, sample = body_schema(route), sample_body(route)
    return [] if schema is None else list(_walk(route, schema, "", sample))


def _walk(route: Route, schema: Schema, at: str, sample: Any) -> Iterator[Slot]:
    """What is in the sample is always sent; the rest only where it is what is asked about."""
    sample = sample[0] if isinstance(sample, list) and sample else sample
    given = sample if isinstance(sample, dict) else {}
    for name, inner in schema.get("properties", {}).items():
        path = f"{at}.{name}".removeprefix(".")
        inner_schema = resolved(route, inner)
        kind = _kind(route, path, name, inner_schema)
        if kind:
            yield Slot("body", path, kind, name in given)
            continue
        if "array" in inner_schema.get("type", ""):
            inner_schema = resolved(route, inner_schema["items"])
        yield from _walk(route, inner_schema, path, given.get(name))


def _kind(route: Route, path: str, name: str, schema: Schema) -> str | None:
    """What is named there; None where nothing is."""
    here = f"{route} {path}"
    if here in KINDS_HERE:
        return KINDS_HERE[here]
    is_uuid = "uuid" in (schema.get("format"), schema.get("items", schema).get("format"))
    if here in PLAIN or (path in PLAIN and not is_uuid):
        return None
    if name in KINDS:
        return KINDS[name]
    if is_uuid and name == "next_cursor" and route.route.rpartition("/")[2] in CURSORS:
        return f"{CURSORS[route.route.rpartition('/')[2]]}_cursor"
    if is_uuid or _OBJECTS_NAME.search(name):
        raise UnknownSlotError(f"{here}: closed_slots says neither in KINDS nor in PLAIN what it names")
    return None
