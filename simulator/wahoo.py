"""Wahoo's cloud API answered for a simulated person: workouts newest first, their FIT files, notices, ten tokens.

Read from Wahoo's cloud API documentation, not compared with a live account.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

import orjson

from simulator import wahoo_documents as documents
from simulator.day import local
from simulator.draws import hexadecimal
from simulator.fit_workout import fit_file
from simulator.grants import Grant, GrantRefusedError, code_exchange, grant_of, refresh, token_revoke
from simulator.hooks import HOOK_MAKERS, Happening, HookRequest, Subscription
from simulator.person import Person, person_of
from simulator.tokens import client_of
from simulator.web import Request, Response, Route, json_response

if TYPE_CHECKING:
    from simulator.store import Store

SLUG: Final = "wahoo"
#: Access tokens of one user and client that may live at once.
TOKENS_MAXIMUM: Final = 10
_PAGE_DEFAULT, _PAGE_MAXIMUM = 30, 100
_LIMITS: Final = (("X-RateLimit-Limit", "5000, 1000, 200"), ("X-RateLimit-Reset", "0"))


class Wahoo:
    """The token endpoint, the `/v1` endpoints and the files."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def token(self, request: Request) -> Response:
        """POST /oauth/token: a refresh ends the tokens before it; an eleventh living token is refused."""
        client = client_of(request)
        if client is None:
            return json_response({"error": "invalid_client"}, 401)
        grant_type = request.field("grant_type")
        try:
            if grant_type == "refresh_token":
                token = request.field("refresh_token")
                pair = refresh(self._store, slug=SLUG, client_id=client, refresh_token=token)
                self._earlier_end(pair.grant)
            elif grant_type == "authorization_code":
                pair = code_exchange(
                    self._store,
                    slug=SLUG,
                    client_id=client,
                    code=request.field("code"),
                    redirect_uri=request.field("redirect_uri"),
                    code_verifier=request.field("code_verifier"),
                )
            else:
                return json_response({"error": "unsupported_grant_type"}, 400)
        except GrantRefusedError as refusal:
            return _invalid_grant(f"The {refusal.what} is not valid.")
        if self._living(pair.grant) > TOKENS_MAXIMUM:
            token_revoke(self._store, SLUG, pair.access_token)
            return _invalid_grant("Too many unrevoked access tokens exist for this app and user.")
        return json_response(
            {
                "token_type": "Bearer",
                "access_token": pair.access_token,
                "refresh_token": pair.refresh_token,
                "expires_in": pair.expires_in_seconds,
                "scope": " ".join(pair.grant.scopes),
                "created_at": int(self._store.now()),
            }
        )

    def user(self, request: Request) -> Response:
        """GET /v1/user."""
        grant = grant_of(self._store, SLUG, request.bearer)
        if grant is None or "user_read" not in grant.scopes:
            return _refused(grant)
        return json_response(documents.user(person_of(grant.seed), grant.account), headers=_LIMITS)

    def workouts(self, request: Request) -> Response:
        """GET /v1/workouts: every workout the user has, and the one planned for tomorrow."""
        grant = grant_of(self._store, SLUG, request.bearer)
        if grant is None or "workouts_read" not in grant.scopes:
            return _refused(grant)
        page, size = _number(request, "page", 1), min(_number(request, "per_page", _PAGE_DEFAULT), _PAGE_MAXIMUM)
        if page < 1 or size < 1:
            return json_response({"error": "Bad Request"}, 400)
        person, now = person_of(grant.seed), self._store.now()
        today = local(person, now).date()
        days = [on for on in documents.days_of(person, today) if self._is_over(person, on, now)]
        rows: list[documents.Document | date] = [documents.planned(person, today + timedelta(days=1)), *days]
        found = [
            self._row(request, grant, person, one) if isinstance(one, date) else one
            for one in rows[(page - 1) * size : page * size]
        ]
        answer = {"workouts": found, "total": len(rows), "page": page, "per_page": size}
        return json_response({**answer, "order": "descending", "sort": "starts"}, headers=_LIMITS)

    def file(self, request: Request) -> Response:
        """GET /files/{id}/workout.fit: whoever has the address has the file, as at Wahoo's own host of files."""
        number, _, rest = request.id.partition("-")
        ordinal, _, key = rest.partition("-")
        known = number.isdecimal() and ordinal.isdecimal() and len(number) < 12 and len(ordinal) < 8
        row = self._store.row("SELECT seed FROM access_grant WHERE id = ?", (int(number),)) if known else None
        if row is None or key != _key(row["seed"], int(ordinal)):
            return json_response({"error": "Not Found"}, 404)
        content = fit_file(person_of(row["seed"]), date.fromordinal(int(ordinal)), documents.MANUFACTURER)
        return Response(body=content, headers=(("Content-Type", "application/octet-stream"),))

    def permissions(self, request: Request) -> Response:
        """DELETE /v1/permissions: the user's grant ends."""
        if not token_revoke(self._store, SLUG, request.bearer):
            return _refused(None)
        return json_response({"success": "Application has been revoked"})

    def _row(self, request: Request, grant: Grant, person: Person, on: date) -> documents.Document:
        recorded = documents.recorded_on(person, on)
        if recorded is None:
            raise ValueError("There is no workout on this day.")
        return documents.workout_of_day(
            person, recorded, _file_url(request.headers.get("host", ""), grant.id, on, person)
        )

    def _is_over(self, person: Person, on: date, now: float) -> bool:
        recorded = documents.recorded_on(person, on)
        return recorded is not None and recorded.workout.ends_at <= now

    def _living(self, grant: Grant) -> int:
        row = self._store.row(
            "SELECT count(*) AS living FROM token JOIN access_grant ON access_grant.id = grant_id "
            "WHERE kind = 'access' AND NOT revoked AND slug = ? AND client_id = ? AND account = ? AND expires_at > ?",
            (SLUG, grant.client_id, grant.account, self._store.now()),
        )
        return int(row["living"]) if row else 0

    def _earlier_end(self, grant: Grant) -> None:
        """Let a grant's access tokens end, all but the newest."""
        with self._store.writing() as connection:
            connection.execute(
                "UPDATE token SET expires_at = 0 WHERE grant_id = ? AND kind = 'access' AND rowid < "
                "(SELECT max(rowid) FROM token WHERE grant_id = ? AND kind = 'access')",
                (grant.id, grant.id),
            )


def _file_url(host: str, grant_id: int, on: date, person: Person) -> str:
    return f"http://{host}/{SLUG}/files/{grant_id}-{on.toordinal()}-{_key(person.seed, on.toordinal())}/workout.fit"


def _key(seed: str, ordinal: int) -> str:
    return hexadecimal(seed, f"wahoo-file-{ordinal}", 12)


def _number(request: Request, name: str, default: int) -> int:
    text = request.query.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 7 else default


def _refused(grant: Grant | None) -> Response:
    if grant is None:
        return json_response({"error": "The access token is invalid"}, 401)
    return json_response({"error": "The access token does not have the scope"}, 403)


def _invalid_grant(description: str) -> Response:
    return json_response({"error": "invalid_grant", "error_description": description}, 400)


def notice_make(subscription: Subscription, happening: Happening) -> HookRequest | None:
    """The summary of the day's workout, with the token in its body. Wahoo tells nothing of a grant that ends."""
    person = person_of(happening.seed)
    recorded = documents.recorded_on(person, happening.day)
    if happening.kind == "deregistered" or recorded is None:
        return None
    url = _file_url("localhost", happening.grant_id, happening.day, person)
    body = orjson.dumps(documents.event(person, recorded, url, subscription.verify_token)).decode()
    return HookRequest("POST", subscription.callback_url, {"Content-Type": "application/json"}, body)


HOOK_MAKERS[SLUG] = notice_make


def routes(store: Store) -> tuple[Route, ...]:
    """Wahoo's addresses; before the plain token endpoint, which knows no limit of tokens."""
    wahoo = Wahoo(store)
    return (
        Route("POST", f"/{SLUG}/oauth/token", wahoo.token),
        Route("GET", f"/{SLUG}/v1/user", wahoo.user),
        Route("GET", f"/{SLUG}/v1/workouts", wahoo.workouts),
        Route("GET", f"/{SLUG}/files/{{id}}/workout.fit", wahoo.file),
        Route("DELETE", f"/{SLUG}/v1/permissions", wahoo.permissions),
    )
