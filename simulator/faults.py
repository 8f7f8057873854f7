"""Faults on request: the next answers of a vendor go wrong in a chosen way."""

from dataclasses import dataclass, replace

from simulator.fault_documents import clock_ahead, half_buckets, wrong_units
from simulator.grants import grant_of, token_expire, token_revoke
from simulator.store import Store
from simulator.tokens import withings_error
from simulator.web import Request, Response, json_response

KINDS = (
    "http_403",
    "http_429",
    "http_500",
    "slow",
    "truncated_json",
    "token_dead",
    "token_expired",
    "rate_limited",
    "scope_missing",
    "wrong_units",
    "half_buckets",
    "clock_ahead",
)


_DOCUMENTS = {"wrong_units": wrong_units, "half_buckets": half_buckets, "clock_ahead": clock_ahead}


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault at work on one request."""

    kind: str
    retry_after_seconds: int
    delay_seconds: float


def fault_take(store: Store, slug: str, path: str) -> Fault | None:
    """The oldest fault that fits a request, one use of it spent; None where nothing is to go wrong."""
    waiting = store.row("SELECT 1 FROM fault WHERE slug = ? LIMIT 1", (slug,))
    if waiting is None:
        return None
    with store.writing() as connection:
        row = connection.execute(
            "SELECT * FROM fault WHERE slug = ? AND substr(?, 1, length(path_prefix)) = path_prefix "
            "ORDER BY id LIMIT 1",
            (slug, path),
        ).fetchone()
        if row is None:
            return None
        if row["skip"] > 0:
            connection.execute("UPDATE fault SET skip = skip - 1 WHERE id = ?", (row["id"],))
            return None
        connection.execute("UPDATE fault SET remaining = remaining - 1 WHERE id = ?", (row["id"],))
        connection.execute("DELETE FROM fault WHERE remaining <= 0")
    return Fault(row["kind"], row["retry_after_seconds"], row["delay_seconds"])


def fault_before(store: Store, fault: Fault, request: Request) -> Response | None:
    """What a fault does before the request is served: answer in its place, or kill its token."""
    if fault.kind in {"token_dead", "token_expired"}:
        if fault.kind == "token_expired":
            token_expire(store, request.bearer)
        elif grant_of(store, request.slug, request.bearer) is not None:
            token_revoke(store, request.slug, request.bearer)
        return None
    retry_after = ("Retry-After", str(fault.retry_after_seconds))
    if fault.kind == "rate_limited" and request.slug == "withings":
        return withings_error(601, "Too Many Request")
    if fault.kind in {"http_429", "rate_limited"}:
        return json_response({"detail": "Request rate limit exceeded."}, 429, [retry_after])
    if fault.kind == "http_403":
        # Not the vendor's own word: the page of what stands before it.
        page = b"<html><title>403 Forbidden</title><p>Out of scope.</html>"
        return Response(status=403, body=page, headers=[("Content-Type", "text/html")])
    if fault.kind == "scope_missing":
        return json_response({}, 403, [("WWW-Authenticate", 'Bearer error="insufficient_scope"')])
    if fault.kind == "http_500":
        return json_response({"detail": "Internal server error."}, 500)
    return None


def fault_after(fault: Fault, response: Response) -> Response:
    """What a fault does to an answer that was made: hold it back, cut it in two, or get its values wrong."""
    if fault.kind == "slow":
        return replace(response, delay_seconds=fault.delay_seconds)
    if fault.kind == "truncated_json":
        return replace(response, body=response.body[: len(response.body) // 2])
    change = _DOCUMENTS.get(fault.kind)
    return change(response) if change else response
