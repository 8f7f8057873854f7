"""Endpoints: where a team wants its events sent, with which secret and headers."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import transaction

from healthsvc.kernel import clock
from healthsvc.kernel.addresses import address_rules, host_is_sound
from healthsvc.kernel.errors import ErrorCode, Problem, ServiceError, invalid
from healthsvc.kernel.http import OutboundError, url_read
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import team_values
from management.models import Team
from webhooks import selectors, walker
from webhooks.addresses import url_without_query
from webhooks.constants import (
    CHANNEL_MAXIMUM_CHARACTERS,
    CHANNEL_PATTERN,
    CHANNELS_MAXIMUM,
    ENDPOINTS_MAXIMUM,
    ROTATION_OVERLAP_SECONDS,
    SECRETS_BEFORE_MAXIMUM,
)
from webhooks.models import Delivery, Endpoint
from webhooks.services.filter_checks import filter_types_check, not_empty_check
from webhooks.services.header_checks import header_names_check, headers_check
from webhooks.services.health import health_clear
from webhooks.signatures import secret_key, secret_make

_PATCHED: Final = [
    "url", "description", "rate_limit", "filter_types", "channels", "disabled", "disabled_reason", "disabled_at",
    "disabled_told_at", "disabled_told_staff_at", "disabled_tell_at", "updated_at",
]  # fmt: skip

_URL_WANTED: Final = "Must be a URL with https and a host, without a user name, a password or blanks."


def endpoint_create(
    *,
    team: TeamContext,
    url: str,
    description: str = "",
    filter_types: Sequence[str] | None = None,
    channels: Sequence[str] | None = None,
    disabled: bool = False,
    rate_limit: int | None = None,
    secret: str | None = None,
) -> Endpoint:
    """A new endpoint. 422 for what may not be called or is malformed, 409 beyond the allowed number."""
    _check_url(url)
    filter_types_check(filter_types, ("body", "filter_types"))
    _check_channels(channels)
    if secret is not None:
        _check_secret(secret, "secret")
    now = clock.now()
    with transaction.atomic():
        _require_room(team)
        return Endpoint.objects.create(
            **team_values(team),
            url=url,
            description=description,
            filter_types=_each_once(filter_types),
            channels=_each_once(channels),
            disabled=disabled,
            rate_limit=rate_limit,
            secret=secret or secret_make(),
            created_at=now,
            updated_at=now,
        )


def endpoint_patch(*, team: TeamContext, endpoint_id: UUID, changes: Mapping[str, Any]) -> Endpoint:
    """Change the named fields; a null `url` or `disabled` changes nothing.

    Disabling cancels what is owed. Enabling forgets why it was disabled and how it fared; what it missed meanwhile
    can be replayed.
    """
    if changes.get("url") is not None:
        _check_url(changes["url"])
    filter_types_check(changes.get("filter_types"), ("body", "filter_types"))
    _check_channels(changes.get("channels"))
    with transaction.atomic():
        endpoint = selectors.endpoint_get(team, endpoint_id, lock=True)
        if changes.get("url") is not None:
            endpoint.url = changes["url"]
        if "description" in changes:
            endpoint.description = changes["description"] or ""
        if "rate_limit" in changes:
            endpoint.rate_limit = changes["rate_limit"]
        if "filter_types" in changes:
            endpoint.filter_types = _each_once(changes["filter_types"])
        if "channels" in changes:
            endpoint.channels = _each_once(changes["channels"])
        if changes.get("disabled") is not None:
            _switch(endpoint, disabled=changes["disabled"])
        endpoint.updated_at = clock.now()
        endpoint.save(update_fields=_PATCHED)
        if endpoint.disabled:
            walker.deliveries_cancel(Delivery.objects.for_team(team).filter(endpoint=endpoint))
    return endpoint


def endpoint_delete(*, team: TeamContext, endpoint_id: UUID) -> None:
    """Delete an endpoint: what is owed to it is cancelled, its secrets are wiped, its log stays until the purge."""
    with transaction.atomic():
        endpoint = selectors.endpoint_get(team, endpoint_id, lock=True)
        endpoint.deleted_at = endpoint.updated_at = clock.now()
        endpoint.secret, endpoint.secrets_before = "", []
        endpoint.headers, endpoint.headers_sensitive = {}, []
        endpoint.url = url_without_query(endpoint.url)  # some keep a secret there
        endpoint.save(force_update=True)
        walker.deliveries_cancel(Delivery.objects.for_team(team).filter(endpoint=endpoint))


def endpoint_headers_put(
    *, team: TeamContext, endpoint_id: UUID, headers: Mapping[str, str], sensitive: Collection[str] = ()
) -> None:
    """Replace the custom headers; values of `sensitive` ones are never shown again.

    422 for malformed ones, for names that are ours or the connection's, and for a sensitive name that is none of them.
    """
    headers_check(headers, sensitive)
    with transaction.atomic():
        endpoint = selectors.endpoint_get(team, endpoint_id, lock=True)
        _headers_save(endpoint, headers, sensitive)


def endpoint_headers_patch(
    *,
    team: TeamContext,
    endpoint_id: UUID,
    changes: Mapping[str, str | None],
    sensitive: Collection[str] = (),
) -> None:
    """Set or, with None, remove some custom headers, in whatever case they are named; the others stay as they are.

    `sensitive` names headers, changed or not, whose values are not to be shown any more. 422 as for replacing all.
    """
    header_names_check(changes)
    with transaction.atomic():
        endpoint = selectors.endpoint_get(team, endpoint_id, lock=True)
        changed = {name.lower() for name in changes}
        kept = {name: value for name, value in endpoint.headers.items() if name.lower() not in changed}
        headers = {**kept, **{name: value for name, value in changes.items() if value is not None}}
        headers_check(headers, sensitive)
        names = {name.lower() for name in headers}
        before = [name for name in endpoint.headers_sensitive if name in names]
        _headers_save(endpoint, headers, [*before, *sensitive])


def endpoint_secret_rotate(
    *, team: TeamContext, endpoint_id: UUID, key: str | None, overlap_seconds: int = ROTATION_OVERLAP_SECONDS
) -> None:
    """A new secret, given or made. Those before sign too, for `overlap_seconds` at most; with 0 they stop at once."""
    if key is not None:
        _check_secret(key, "key")
    now = clock.now()
    until = now + timedelta(seconds=overlap_seconds)
    with transaction.atomic():
        endpoint = selectors.endpoint_get(team, endpoint_id, lock=True)
        new = key or secret_make()
        earlier = [(item["key"], datetime.fromisoformat(item["until"])) for item in endpoint.secrets_before]
        before = [(endpoint.secret, until), *((old, min(until, end)) for old, end in earlier)]
        still = [{"key": old, "until": end.isoformat()} for old, end in before if end > now and old != new]
        endpoint.secrets_before = still[:SECRETS_BEFORE_MAXIMUM]
        endpoint.secret = new
        endpoint.updated_at = now
        endpoint.save(update_fields=["secret", "secrets_before", "updated_at"])


def _require_room(team: TeamContext) -> None:
    """409 where the team has all the endpoints it may have. The team is held, so that of two at once one waits."""
    Team.objects.select_for_update(no_key=True).get(pk=team.team_id)
    if Endpoint.objects.for_team(team).kept().count() >= ENDPOINTS_MAXIMUM:
        raise ServiceError(ErrorCode.CONFLICT, f"A team has at most {ENDPOINTS_MAXIMUM} endpoints an environment.")


def _switch(endpoint: Endpoint, *, disabled: bool) -> None:
    """Enable or disable by hand. What is as wished already keeps its reason."""
    if disabled == endpoint.disabled:
        return
    endpoint.disabled = disabled
    endpoint.disabled_reason = ""
    endpoint.disabled_at = endpoint.disabled_told_at = None
    endpoint.disabled_told_staff_at = endpoint.disabled_tell_at = None
    if not disabled:
        health_clear(endpoint.id)


def _headers_save(endpoint: Endpoint, headers: Mapping[str, str], sensitive: Collection[str]) -> None:
    endpoint.headers = dict(headers)
    endpoint.headers_sensitive = sorted({name.lower() for name in sensitive})
    endpoint.updated_at = clock.now()
    endpoint.save(update_fields=["headers", "headers_sensitive", "updated_at"])


def _each_once(given: Sequence[str] | None) -> list[str] | None:
    """Each once, in the order given; None means all."""
    return None if given is None else list(dict.fromkeys(given))


def _check_channels(channels: Sequence[str] | None) -> None:
    """What the serializers see too; other doors come here."""
    loc = ("body", "channels")
    not_empty_check(channels, loc)
    found = [
        Problem((*loc, index), "Must be letters, digits, dots, colons, hyphens or underscores.", "channel")
        for index, channel in enumerate(channels or ())
        if len(channel) > CHANNEL_MAXIMUM_CHARACTERS or not CHANNEL_PATTERN.fullmatch(channel)
    ]
    if len(channels or ()) > CHANNELS_MAXIMUM:
        found.append(Problem(loc, f"At most {CHANNELS_MAXIMUM} channels.", "too_long"))
    if found:
        raise invalid(found)


def _check_url(url: str) -> None:
    """https to a host that is not plainly private; http only to the origins of this machine that settings name."""
    rules = address_rules()
    try:
        parsed = url_read(url)
    except OutboundError:
        raise invalid([Problem(("body", "url"), _URL_WANTED, "url_parsing")]) from None
    if parsed.scheme != "https" and not rules.is_loopback_origin(parsed):
        raise invalid([Problem(("body", "url"), "Must begin with https://.", "url_scheme")])
    if not rules.permits_host(parsed):
        raise invalid([Problem(("body", "url"), "This host is not public.", "url_private")])
    if not host_is_sound(parsed.raw_host or ""):
        raise invalid([Problem(("body", "url"), _URL_WANTED, "url_parsing")])


def _check_secret(secret: str, field: str) -> None:
    try:
        secret_key(secret)
    except ValueError:
        message = "Must be whsec_ and the base64 of 24 to 64 bytes."
        raise invalid([Problem(("body", field), message, "value_error")]) from None
