"""Endpoints: where a team wants its events sent, with which secret and headers."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction

from healthsvc.kernel import clock
from healthsvc.kernel.addresses import address_rules
from healthsvc.kernel.errors import ErrorCode, Problem, ServiceError, invalid
from healthsvc.kernel.http import OutboundError, url_read
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import team_values
from webhooks import selectors, walker
from webhooks.constants import (
    DISABLED_GONE,
    ENDPOINTS_MAXIMUM,
    HEADER_NAME_PATTERN,
    HEADER_PREFIXES_RESERVED,
    HEADER_VALUE_MAXIMUM_CHARACTERS,
    HEADER_VALUE_PATTERN,
    HEADERS_MAXIMUM,
    HEADERS_RESERVED,
    ROTATION_OVERLAP_SECONDS,
    SECRETS_BEFORE_MAXIMUM,
)
from webhooks.events import WEBHOOK_TEST
from webhooks.models import Delivery, Endpoint
from webhooks.services.events import event_emit_to
from webhooks.signatures import secret_key, secret_make


def endpoint_create(
    *,
    team: TeamContext,
    url: str,
    description: str = "",
    filter_types: Sequence[str] | None = None,
    disabled: bool = False,
    rate_limit: int | None = None,
    secret: str | None = None,
) -> Endpoint:
    """A new endpoint. 422 for a URL that may not be called or a malformed secret, 409 beyond the allowed number."""
    _check_url(url)
    if secret is not None:
        _check_secret(secret, "secret")
    if Endpoint.objects.for_team(team).kept().count() >= ENDPOINTS_MAXIMUM:
        raise ServiceError(ErrorCode.CONFLICT, f"A team has at most {ENDPOINTS_MAXIMUM} endpoints an environment.")
    now = clock.now()
    return Endpoint.objects.create(
        **team_values(team),
        url=url,
        description=description,
        filter_types=_filter_types(filter_types),
        disabled=disabled,
        rate_limit=rate_limit,
        secret=secret or secret_make(),
        created_at=now,
        updated_at=now,
    )


def endpoint_patch(*, team: TeamContext, endpoint_id: UUID, changes: Mapping[str, Any]) -> Endpoint:
    """Change the named fields; a null `url` or `disabled` changes nothing. Disabling cancels what is owed."""
    with transaction.atomic():
        endpoint = selectors.endpoint_get(team, endpoint_id, lock=True)
        if changes.get("url") is not None:
            _check_url(changes["url"])
            endpoint.url = changes["url"]
        if "description" in changes:
            endpoint.description = changes["description"] or ""
        if "rate_limit" in changes:
            endpoint.rate_limit = changes["rate_limit"]
        if "filter_types" in changes:
            endpoint.filter_types = _filter_types(changes["filter_types"])
        if changes.get("disabled") is not None:
            endpoint.disabled = changes["disabled"]
            endpoint.disabled_reason = ""
        endpoint.updated_at = clock.now()
        endpoint.save(force_update=True)
        if endpoint.disabled:
            walker.deliveries_cancel(Delivery.objects.for_team(team).filter(endpoint=endpoint))
    return endpoint


def endpoint_delete(*, team: TeamContext, endpoint_id: UUID) -> None:
    """Delete an endpoint: what is owed to it is cancelled, its secrets are wiped, its log stays until the purge."""
    with transaction.atomic():
        endpoint = selectors.endpoint_get(team, endpoint_id, lock=True)
        endpoint.deleted_at = endpoint.updated_at = clock.now()
        endpoint.secret, endpoint.secrets_before, endpoint.headers = "", [], {}
        endpoint.save(force_update=True)
        walker.deliveries_cancel(Delivery.objects.for_team(team).filter(endpoint=endpoint))


def endpoint_headers_put(*, team: TeamContext, endpoint_id: UUID, headers: Mapping[str, str]) -> None:
    """Replace the custom headers. 422 for malformed ones and for names that are ours or the connection's."""
    _check_headers(headers)
    with transaction.atomic():
        endpoint = selectors.endpoint_get(team, endpoint_id, lock=True)
        endpoint.headers = dict(headers)
        endpoint.updated_at = clock.now()
        endpoint.save(update_fields=["headers", "updated_at"])


def endpoint_secret_rotate(*, team: TeamContext, endpoint_id: UUID, key: str | None) -> None:
    """A new secret, given or made. For a day the ones before sign too."""
    if key is not None:
        _check_secret(key, "key")
    now = clock.now()
    until = now + timedelta(seconds=ROTATION_OVERLAP_SECONDS)
    with transaction.atomic():
        endpoint = selectors.endpoint_get(team, endpoint_id, lock=True)
        still = [item for item in endpoint.secrets_before if datetime.fromisoformat(item["until"]) > now]
        before = [{"key": endpoint.secret, "until": until.isoformat()}, *still]
        endpoint.secrets_before = before[:SECRETS_BEFORE_MAXIMUM]
        endpoint.secret = key or secret_make()
        endpoint.updated_at = now
        endpoint.save(update_fields=["secret", "secrets_before", "updated_at"])


def endpoint_test(*, team: TeamContext, endpoint_id: UUID) -> UUID:
    """Send the test event to this endpoint alone, whatever it filters; the event's id. 409 where it is disabled."""
    with transaction.atomic():
        endpoint = selectors.endpoint_get(team, endpoint_id, lock=True)
        if endpoint.disabled:
            raise ServiceError(ErrorCode.CONFLICT, "The endpoint is disabled.")
        data = {"endpoint_id": str(endpoint.id), "message": "This is a test."}
        return event_emit_to(endpoint, team=team, event_type=WEBHOOK_TEST, data=data)


def endpoints_lock(endpoint_ids: Collection[UUID]) -> None:
    """Hold endpoints before their deliveries are held, as everyone does. In a transaction."""
    rows = Endpoint.objects.filter(pk__in=endpoint_ids).order_by("pk").select_for_update(no_key=True)
    list(rows.values_list("pk", flat=True))


def endpoints_disable_gone(endpoint_ids: Collection[UUID]) -> None:
    """Disable endpoints that answered 410, and cancel what is owed to them. In delivery scope, after the lock."""
    Endpoint.objects.filter(pk__in=endpoint_ids, disabled=False).update(
        disabled=True, disabled_reason=DISABLED_GONE, updated_at=clock.now()
    )
    walker.deliveries_cancel(Delivery.objects.filter(endpoint_id__in=endpoint_ids))


def _filter_types(given: Sequence[str] | None) -> list[str] | None:
    """Each once, in the order given; none means all."""
    return list(dict.fromkeys(given)) if given else None


def _check_url(url: str) -> None:
    """https to a host that is not plainly private; http only to the origins of this machine that settings name."""
    rules = address_rules()
    try:
        parsed = url_read(url)
    except OutboundError:
        message = "Must be a URL with https and a host, without a user name, a password or blanks."
        raise invalid([Problem(("body", "url"), message, "url_parsing")]) from None
    if parsed.scheme != "https" and not rules.is_loopback_origin(parsed):
        raise invalid([Problem(("body", "url"), "Must begin with https://.", "url_scheme")])
    if not rules.permits_host(parsed):
        raise invalid([Problem(("body", "url"), "This host is not public.", "url_private")])


def _check_secret(secret: str, field: str) -> None:
    try:
        secret_key(secret)
    except ValueError:
        message = "Must be whsec_ and the base64 of 24 to 64 bytes."
        raise invalid([Problem(("body", field), message, "value_error")]) from None


def _check_headers(headers: Mapping[str, str]) -> None:
    loc = ("body", "headers")
    found: list[Problem] = []
    if len(headers) > HEADERS_MAXIMUM:
        found.append(Problem(loc, f"At most {HEADERS_MAXIMUM} headers.", "too_long"))
    if len({name.lower() for name in headers}) != len(headers):
        found.append(Problem(loc, "A name is given twice.", "value_error"))
    for name, value in headers.items():
        plain = name.lower()
        if not HEADER_NAME_PATTERN.fullmatch(name):
            found.append(Problem(loc, "A name is not that of a header.", "header_name"))
        elif plain in HEADERS_RESERVED or plain.startswith(HEADER_PREFIXES_RESERVED):
            found.append(Problem((*loc, name), "This header is set by the service.", "header_reserved"))
        elif len(value) > HEADER_VALUE_MAXIMUM_CHARACTERS or not HEADER_VALUE_PATTERN.fullmatch(value):
            message = f"Must be visible ASCII, at most {HEADER_VALUE_MAXIMUM_CHARACTERS} characters."
            found.append(Problem((*loc, name), message, "header_value"))
    if found:
        raise invalid(found)
