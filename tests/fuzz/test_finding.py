"""What the fuzz run would find: an application for each sort of failure, and one without any."""

import json
import re
from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.fuzz.sending import Amount, operation_problems, operations_of

KEY: Final = {"x-key": "right"}
REFUSAL: Final = {"description": "No.", "content": {"application/json": {"schema": {"type": "object"}}}}
DOCUMENT: Final = {
    "openapi": "3.1.1",
    "info": {"title": "Things", "version": "1"},
    "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "x-key"}}},
    "paths": {
        "/thing": {
            "get": {
                "security": [{"key": []}],
                "parameters": [
                    {"in": "query", "name": "limit", "schema": {"type": "integer", "maximum": 10}, "required": True}
                ],
                "responses": {
                    "200": {
                        "description": "The thing.",
                        "content": {
                            "application/json": {
                                "schema": {
                                    "type": "object",
                                    "required": ["name"],
                                    "properties": {"name": {"type": "string"}},
                                }
                            }
                        },
                    },
                    "401": REFUSAL,
                    "422": REFUSAL,
                },
            }
        }
    },
}
#: Status, type and body of an answer.
Reply = tuple[str, str, object]
RIGHT: Final[Reply] = ("200 OK", "application/json", {"name": "a"})
NO_KEY: Final[Reply] = ("401 Unauthorized", "application/json", {})
MALFORMED: Final[Reply] = ("422 Unprocessable Content", "application/json", {})


def application(right: Reply, malformed: Reply = MALFORMED, no_key: Reply = NO_KEY) -> Callable[..., list[bytes]]:
    """Answers a request that is in order, one that is not, and one without the key."""

    def answer(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        given = re.fullmatch(r"limit=(-?\d{1,18})", environ["QUERY_STRING"])
        taken = given is not None and int(given[1]) <= 10
        reply = no_key if environ.get("HTTP_X_KEY") != "right" else right if taken else malformed
        if environ["REQUEST_METHOD"] != "GET":
            start_response("405 Method Not Allowed", [("Content-Type", "application/json"), ("Allow", "GET")])
            return [b"{}"]
        start_response(reply[0], [("Content-Type", reply[1])])
        return [json.dumps(reply[2]).encode()]

    return answer


def found(answer: Callable[..., list[bytes]]) -> str:
    """What the run says of an application."""
    operation = operations_of(json.loads(json.dumps(DOCUMENT)), answer)["/thing"]["GET"]
    amount = Amount(random=8, boundaries=12)
    return "\n".join(operation_problems(operation, headers=KEY, known={"limit": "3"}, amount=amount))


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    assert found(application(RIGHT)) == ""


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        (application(("500 Internal Server Error", "application/json", {})), "Server error"),
        (application(("418 I'm a teapot", "application/json", {})), "Undocumented status code"),
        (application(("200 OK", "application/json", {"name": 1})), "Response violates schema"),
        (application(("200 OK", "text/html", {"name": "a"})), "Undocumented Content-Type"),
        (application(RIGHT, malformed=RIGHT), "Schema-violating request accepted"),
        (application(RIGHT, no_key=RIGHT), "API accepts requests without authentication"),
    ],
)
def test_each_sort_of_failure_is_found(answer: Callable[..., list[bytes]], title: str) -> None:
    assert title in found(answer)
