"""The one error type, the one list of codes and the one body every refusal has.

Body: `{"detail": …, "code": "…", "request_id": "…"}`. `detail` is a sentence; for 422 a list of `{loc, msg, type}`;
an object where an existing client needs one. No request value is repeated in it, for values may be health data.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

import psycopg
from django import db

from healthsvc.kernel.typing import JSONObject, JSONValue


class ErrorCode(Enum):
    """Every code the service answers, with its HTTP status and what it tells the caller."""

    VALIDATION_FAILED = (
        "validation_failed",
        422,
        "A value in the path, query or body is missing or malformed.",
    )
    IDEMPOTENCY_KEY_REUSED = (
        "idempotency_key_reused",
        422,
        "The idempotency key was used with another request.",
    )
    QUERY_BUDGET_EXCEEDED = (
        "query_budget_exceeded",
        422,
        "The query would read or answer more than is allowed.",
    )
    BAD_REQUEST = ("bad_request", 400, "The request can't be carried out as it stands.")
    CLIENT_USER_ID_TAKEN = (
        "client_user_id_taken",
        400,
        "A living user of this team has this client_user_id.",
    )
    NOTHING_TO_CHANGE = ("nothing_to_change", 400, "The patch names no field.")
    NO_CONNECTED_SOURCES = ("no_connected_sources", 400, "The user has no connected provider to pull from.")
    LINK_REFUSED = (
        "link_refused",
        400,
        "A link can't begin like this; detail.error_type says why.",
    )
    NOT_AUTHENTICATED = (
        "not_authenticated",
        401,
        "The key or token is missing, unknown, expired or revoked.",
    )
    NOT_ALLOWED = ("not_allowed", 403, "The key is known, but this action is not open to it.")
    NOT_FOUND = ("not_found", 404, "There is nothing at this address, or it is another team's.")
    METHOD_NOT_ALLOWED = ("method_not_allowed", 405, "The address exists, but not for this method.")
    CONFLICT = ("conflict", 409, "The state of the object refuses this action.")
    CLIENT_USER_ID_CONFLICT = ("client_user_id_conflict", 409, "Another living user has this client_user_id.")
    REQUEST_RUNNING = ("request_running", 409, "A request with this idempotency key is running now.")
    LENGTH_REQUIRED = ("length_required", 411, "Send the body with a Content-Length; chunked bodies are not taken.")
    TOO_LARGE = ("too_large", 413, "The body is larger than this address takes.")
    UNSUPPORTED_MEDIA_TYPE = ("unsupported_media_type", 415, "The body's media type is not taken here.")
    RATE_LIMITED = ("rate_limited", 429, "Too many requests; Retry-After says when to come back.")
    INTERNAL = ("internal_error", 500, "Something failed on our side; quote the request id.")
    UNAVAILABLE = ("unavailable", 503, "A part of the service is not ready; try again.")

    def __init__(self, code: str, status: int, meaning: str) -> None:
        self.code = code
        self.status = status
        self.meaning = meaning


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a request: where (`loc`), what (`msg`) and of which kind (`type`)."""

    loc: tuple[str | int, ...]
    msg: str
    type: str = "value_error"

    def as_json(self) -> JSONObject:
        """The entry of a 422 body's `detail`."""
        return {"loc": list(self.loc), "msg": self.msg, "type": self.type}


class ServiceError(Exception):
    """A refusal the caller is told of. `detail` None means the code's own meaning.

    `retry_after_seconds` above 0 says when to come back; here it becomes a header, so that services need know none.
    """

    def __init__(
        self,
        code: ErrorCode,
        detail: JSONValue = None,
        *,
        headers: Mapping[str, str] | None = None,
        retry_after_seconds: int = 0,
    ) -> None:
        super().__init__(code.code)
        self.code = code
        self.detail: JSONValue = code.meaning if detail is None else detail
        self.retry_after_seconds = retry_after_seconds
        self.headers = dict(headers or {})
        if retry_after_seconds:
            self.headers["Retry-After"] = str(retry_after_seconds)


def invalid(problems: Sequence[Problem], code: ErrorCode = ErrorCode.VALIDATION_FAILED) -> ServiceError:
    """A 422 that names every problem."""
    return ServiceError(code, [problem.as_json() for problem in problems])


def not_found() -> ServiceError:
    """What a missing row and another team's row both answer."""
    return ServiceError(ErrorCode.NOT_FOUND)


_OUTAGES: Final = (db.OperationalError, db.InterfaceError, psycopg.OperationalError, psycopg.InterfaceError)


def is_outage(error: BaseException | None) -> bool:
    """Whether the database is away, or ended the statement: what was asked for can be asked again."""
    return isinstance(error, _OUTAGES)


def error_body(code: ErrorCode, detail: JSONValue, request_id: str) -> JSONObject:
    """The body of every error answer."""
    return {"detail": detail, "code": code.code, "request_id": request_id}
