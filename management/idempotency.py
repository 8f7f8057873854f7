"""Idempotency keys on POST: the first executed answer is kept, encrypted, and answers every repeat for 24 hours.

A claim is committed before the handler runs, so that a twin sees it (409). The handler's changes and the kept answer
are committed together, so that a crash leaves either both or neither; a claim left behind by a crash is taken over
once it is older than any request may run.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import orjson
from django.core.exceptions import RequestDataTooBig
from django.db import transaction
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel import clock
from healthsvc.kernel.crypto import keyed_hash
from healthsvc.kernel.errors import ErrorCode, Problem, ServiceError, invalid
from healthsvc.kernel.ids import uuid_parse
from healthsvc.kernel.json_io import json_encode
from healthsvc.kernel.principal import Principal, TeamContext
from healthsvc.kernel.rows import team_values
from management.constants import (
    REPLY_KEPT_SECONDS,
    REPLY_KEY_MAXIMUM_CHARACTERS,
    REPLY_RUNNING_SECONDS,
    ReplyState,
)
from management.models import IdempotentReply, OrganisationReply, ReplyRow

HEADERS = ("Idempotency-Key", "X-Idempotency-Key")
#: Answers that a repeat must not get again: not executed (401, 403, 413, 415, 422), passing (409, 429), failed (5xx).
_NOT_KEPT = frozenset({401, 403, 405, 409, 413, 415, 422, 429})
_CLAIM = "_healthsvc_claimed_reply"
_UNDOABLE = "_healthsvc_reply_undoable"
_REPLAYED_HEADERS = ("Location",)


def replies_forget(team: TeamContext, user_id: UUID) -> int:
    """Remove what was answered about a user who is deleted; how many answers. A repeat is a first request again, also
    where the deletion is undone. In the transaction of the deletion, which holds the user's row.
    """
    return IdempotentReply.objects.for_team(team).filter(user_id=user_id).delete()[0]


class DatabaseReplyKeeper:
    """Keeps replies in `IdempotentReply`, those of the management address in `OrganisationReply`."""

    def replay(self, request: Request, principal: Principal, route: str) -> Response | None:
        """The kept answer, or None after claiming the key (or where no key was sent)."""
        key = next((request.headers[name] for name in HEADERS if name in request.headers), None)
        owner = _owner(principal)
        if key is None or owner is None:
            return None
        if not 1 <= len(key) <= REPLY_KEY_MAXIMUM_CHARACTERS:
            message = f"Must have 1 to {REPLY_KEY_MAXIMUM_CHARACTERS} characters."
            raise invalid([Problem(("header", "Idempotency-Key"), message, "string_length")])
        key_hash = keyed_hash("idempotency", f"{route}\x00{owner.name}{key}")
        return _claim(request, owner, key_hash, _request_hash(request))

    @contextmanager
    def running(self, request: Request) -> Iterator[None]:
        """A transaction around the handler where a key was claimed; nothing otherwise."""
        if getattr(request, _CLAIM, None) is None:
            yield
            return
        with transaction.atomic():
            setattr(request, _UNDOABLE, True)
            try:
                yield
            finally:
                setattr(request, _UNDOABLE, False)

    def keep(self, request: Request, response: Response) -> None:
        """Keep the answer of the claimed key, or let the key go.

        Where the claim was taken over by a twin meanwhile, an answer that can be undone still is refused: the
        twin's is the one that counts.
        """
        claimed: ReplyRow | None = getattr(request, _CLAIM, None)
        if claimed is None:
            return
        row = type(claimed)._base_manager.filter(pk=claimed.pk, state=ReplyState.RUNNING)
        status = response.status_code
        if status in _NOT_KEPT or status >= 500 or response.streaming:
            held = row.delete()[0]
        else:
            held = row.update(**_kept_values(claimed, request, response))
        if not held and getattr(request, _UNDOABLE, False):
            raise _still_running()


@dataclass(frozen=True, slots=True)
class _Owner:
    """Whose replies: the columns that say so, and what a key means something under besides its route."""

    model: type[ReplyRow]
    values: Mapping[str, Any]
    name: str = ""

    def found(self, **which: Any) -> ReplyRow | None:
        return self.model._base_manager.filter(**self.values, **which).first()


def _owner(principal: Principal) -> _Owner | None:
    """The caller's team, or its organisation: there each key has its own, for keys may not see the same teams."""
    if principal.team is not None:
        return _Owner(IdempotentReply, team_values(principal.team))
    if principal.organisation_id is not None:
        return _Owner(OrganisationReply, {"organisation_id": principal.organisation_id}, f"{principal.key_id}\x00")
    return None


def _kept_values(claimed: ReplyRow, request: Request, response: Response) -> dict[str, Any]:
    named = {"user_id": _user_id(request, response)} if isinstance(claimed, IdempotentReply) else {}
    return {
        **named,
        "state": ReplyState.ANSWERED,
        "status_code": response.status_code,
        "reply": {
            "body": orjson.loads(json_encode(response.data)),
            "headers": {name: response[name] for name in _REPLAYED_HEADERS if name in response},
        },
    }


def _claim(request: Request, owner: _Owner, key_hash: bytes, request_hash: bytes) -> Response | None:
    now = clock.now()
    row = owner.model(
        key_hash=key_hash,
        request_hash=request_hash,
        started_at=now,
        expires_at=now + timedelta(seconds=REPLY_KEPT_SECONDS),
        **owner.values,
    )
    for _attempt in range(2):
        if owner.model._base_manager.bulk_create([row], ignore_conflicts=True) and owner.found(pk=row.pk):
            setattr(request, _CLAIM, row)
            return None
        found = owner.found(key_hash=key_hash)
        if found is None:
            continue
        if found.expires_at <= now or _abandoned(found):
            # Only in the state it was found in: whoever runs late may have committed an answer just now.
            owner.model._base_manager.filter(pk=found.pk, state=found.state).delete()
            continue
        return _kept_answer(found, request_hash)
    raise _still_running()


def _abandoned(row: ReplyRow) -> bool:
    age = clock.now() - row.started_at
    return row.state == ReplyState.RUNNING and age > timedelta(seconds=REPLY_RUNNING_SECONDS)


def _kept_answer(row: ReplyRow, request_hash: bytes) -> Response:
    if bytes(row.request_hash) != request_hash:
        problem = Problem(("header", "Idempotency-Key"), ErrorCode.IDEMPOTENCY_KEY_REUSED.meaning, "reused")
        raise invalid([problem], ErrorCode.IDEMPOTENCY_KEY_REUSED)
    if row.state == ReplyState.RUNNING:
        raise _still_running()
    reply: dict[str, Any] = row.reply
    return Response(
        reply["body"],
        status=row.status_code or 200,
        headers={**reply["headers"], "Idempotent-Replayed": "true"},
    )


def _still_running() -> ServiceError:
    return ServiceError(ErrorCode.REQUEST_RUNNING, headers={"Retry-After": "1"})


def _request_hash(request: Request) -> bytes:
    """Method, full path and body, so that a key can't be reused for another request."""
    raw = request._request.body
    address = f"{request.method} {request.get_full_path()}".encode()
    return hashlib.sha256(address + b"\x00" + raw).digest()


def _user_id(request: Request, response: Response) -> UUID | None:
    """Whose data the reply holds, so that it is erased with them."""
    match = request._request.resolver_match
    named = match.kwargs.get("user_id") if match else None
    if isinstance(named, UUID):
        return named
    data = response.data if isinstance(response.data, dict) else {}
    refusal = data.get("detail")
    told = refusal.get("user_id") if isinstance(refusal, dict) else None
    for value in (data.get("user_id"), told, named, _body_user_id(request)):
        found = value if isinstance(value, UUID) else uuid_parse(str(value))
        if found:
            return found
    return None


def _body_user_id(request: Request) -> object:
    try:
        data = request.data
    except (APIException, RequestDataTooBig):
        return None  # a body that can't be read names nobody
    return data.get("user_id") if isinstance(data, dict) else None
