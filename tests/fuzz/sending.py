"""Requests that schemathesis makes of an OpenAPI document, sent to the service in this process, and what was wrong."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import schemathesis
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.config import SchemathesisConfig
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.core.parameters import ParameterLocation
from schemathesis.transport.serialization import serialize_binary

from healthsvc.kernel.address import ADDRESS_KEY, MANAGEMENT_ADDRESS
from tests.documents import MANAGEMENT_URLCONF, document

#: What every answer is held against.
CHECKS: Final = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
    "negative_data_rejection",
    "ignored_auth",
    "missing_required_header",
    "unsupported_method",
    "allow_header_conformance",
)
#: Refusals of malformed requests that schemathesis would not expect of everybody.
_REFUSED_TOO: Final = ("411", "413")
#: What a document allows and is no failure, by operation and status, each with its reason.
EXPECTED: Final = {
    ("GET /readyz", 503): "no worker and no beat run beside the tests",
}
#: Who is asked for instead, where an answer about anybody else would be waited for: no worker ends anything here.
_INSTEAD: Final = {"POST /v2/user/refresh/{user_id}": {"user_id": "unconnected_user_id"}}
#: Never left to chance, for the same reason.
_ALWAYS: Final = {"wait_for_completion": False}
#: Of four requests, so many name what there is; the others name what nobody has.
_LEADING_OF_FOUR: Final = 3
#: Failures that begin alike are one.
_MESSAGE_MAXIMUM_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class Amount:
    """How much is tried: random requests, at most so many on a boundary (None: all), and which random ones.

    Without a seed they are the same each time.
    """

    random: int
    boundaries: int | None
    seed: int | None = None


def service(urlconf: str) -> Any:
    """The service at an address; whatever a request changes is undone after its answer."""
    served = WSGIHandler()

    def undone(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        if urlconf == MANAGEMENT_URLCONF:
            environ[ADDRESS_KEY] = MANAGEMENT_ADDRESS
        with _one_connection(), transaction.atomic():
            response = served(environ, start_response)
            body = list(response)
            response.close()
            transaction.set_rollback(True)
        return body

    return undone


@contextmanager
def _one_connection() -> Iterator[None]:
    """Django would end a connection that is found inside a transaction; its own test client keeps it like this."""
    ends = (request_started, request_finished)
    for signal in ends:
        signal.disconnect(close_old_connections)
    try:
        yield
    finally:
        for signal in ends:
            signal.connect(close_old_connections)


@schemathesis.serializer("application/zip", "application/x-zip-compressed")
def _as_it_is(_context: Any, value: Any) -> bytes:
    """The bytes of a file; schemathesis knows how to write no archive."""
    return serialize_binary(value)


@lru_cache(maxsize=2)
def service_operations(urlconf: str) -> Any:
    """Every operation of an address, by path and method."""
    return operations_of(document(urlconf), service(urlconf))


def operations_of(whole: dict[str, Any], application: Any) -> Any:
    """The operations of a document, which `application` is held against."""
    schema = schemathesis.openapi.from_dict(whole, config=SchemathesisConfig())
    schema.app = application
    # Keys are sent by name; generated ones would only ever be refused.
    schema.config.generation.update(with_security_parameters=False)
    schema.config.checks.update(included_check_names=list(CHECKS))
    rejection = schema.config.checks.negative_data_rejection
    rejection.expected_statuses = [*rejection.expected_statuses, *_REFUSED_TOO]
    return schema


def operation_problems(
    operation: Any, *, headers: Mapping[str, str], known: Mapping[str, Any], amount: Amount
) -> dict[str, str]:
    """What is wrong with the answers of one operation: each sort of failure once, with a request that shows it."""
    found: dict[str, str] = {}

    def send(case: Case[Any]) -> None:
        for failure, report in _failures(case, headers):
            found.setdefault(f"{failure.title}: {failure.message[:_MESSAGE_MAXIMUM_CHARACTERS]}", report)

    for case in _boundaries(operation, known, amount.boundaries):
        send(case)
    _random_sent(operation, known, amount, send)
    return found


def _random_sent(operation: Any, known: Mapping[str, Any], amount: Amount, send: Any) -> None:
    run = settings(
        max_examples=amount.random,
        derandomize=amount.seed is None,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )(given(case=_random(operation, known))(lambda case: send(case)))
    (run if amount.seed is None else seed(amount.seed)(run))()


def _random(operation: Any, known: Mapping[str, Any]) -> st.SearchStrategy[Case[Any]]:
    drawn = st.one_of([operation.as_strategy(generation_mode=mode) for mode in GenerationMode])
    return st.tuples(drawn, st.integers(1, 4)).map(
        lambda pair: _led(pair[0], {**known, **_ALWAYS} if pair[1] <= _LEADING_OF_FOUR else _ALWAYS)
    )


def _boundaries(operation: Any, known: Mapping[str, Any], limit: int | None) -> Iterable[Case[Any]]:
    schema = operation.schema
    cases = list(
        schema.iter_coverage_cases(
            operation, generation_modes=list(GenerationMode), generation_config=schema.config.generation
        )
    )
    step = 1 if limit is None else max(1, -(-len(cases) // limit))
    return [_led(case, {**known, **_ALWAYS}) for case in cases[::step]]


def _led(case: Case[Any], known: Mapping[str, Any]) -> Case[Any]:
    """The case, naming what there is in each part that it does not make malformed."""
    parts = (
        (ParameterLocation.PATH, case.path_parameters),
        (ParameterLocation.QUERY, case.query),
        (ParameterLocation.BODY, case.body),
    )
    instead = _INSTEAD.get(case.operation.label, {})
    for location, held in parts:
        if isinstance(held, dict) and not (case.meta and case.meta.is_negative_at(location)):
            led = {name: instead.get(name, name) for name in held}
            held.update({name: known[source] for name, source in led.items() if source in known})
    return case


def _failures(case: Case[Any], headers: Mapping[str, str]) -> list[tuple[Failure, str]]:
    response = case.call(headers=dict(headers))
    if (case.operation.label, response.status_code) in EXPECTED:
        return []
    try:
        case.validate_response(response, headers=dict(headers), transport_kwargs={"headers": dict(headers)})
    except FailureGroup as group:
        return [(failure, str(group)) for failure in group.exceptions]
    return []
