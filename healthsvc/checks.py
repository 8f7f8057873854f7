"""System checks: settings that are unsafe outside a development machine are refused, each with a number."""

import sys
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connections

from healthsvc.kernel import crypto

#: Fewer characters can't hold 256 bits of base 64.
_SECRET_MINIMUM_CHARACTERS = 43


def register_all() -> None:
    """Register every check of the project."""
    checks.register(secrets_check, checks.Tags.security)
    checks.register(addresses_check, checks.Tags.security)
    checks.register(outbound_check, checks.Tags.security)
    checks.register(database_role_check, checks.Tags.database)


def refuse_unsafe_start() -> None:
    """End the process where a check finds an error: servers, workers and beat call this before they serve."""
    found = [
        *secrets_check(None),
        *addresses_check(None),
        *outbound_check(None),
        *database_role_check(None, ["default"]),
    ]
    errors = [f"{message.id}: {message.msg} {message.hint}" for message in found if message.is_serious()]
    if errors:
        sys.exit("\n".join(["Refusing to start with unsafe settings.", *errors]))


def secrets_check(app_configs: Sequence[AppConfig] | None, **_kwargs: Any) -> list[checks.CheckMessage]:
    """E001 to E003: secrets are there, long enough, and readable."""
    found: list[checks.CheckMessage] = []
    for number, name in ((1, "SECRET_KEY"), (2, "KEY_PEPPER")):
        if len(getattr(settings, name)) < _SECRET_MINIMUM_CHARACTERS:
            hint = f"Set {name} or {name}_FILE to at least {_SECRET_MINIMUM_CHARACTERS} random characters."
            found.append(checks.Error(f"{name} is missing or too short.", hint=hint, id=f"healthsvc.E00{number}"))
    try:
        crypto.current_key_id()
    except ImproperlyConfigured as error:
        found.append(checks.Error(str(error), hint="id:base64 of 32 random bytes", id="healthsvc.E003"))
    return found


def addresses_check(app_configs: Sequence[AppConfig] | None, **_kwargs: Any) -> list[checks.CheckMessage]:
    """E004 to E006: no debug mode, https, and named hosts, unless this is the embedded default."""
    if settings.EMBEDDED:
        return []
    found: list[checks.CheckMessage] = []
    if settings.DEBUG:
        found.append(checks.Error("DEBUG must be false.", hint="Unset DEBUG.", id="healthsvc.E004"))
    for url in (settings.BASE_URL, settings.MANAGEMENT_URL):
        if urlsplit(url).scheme != "https":
            message = "BASE_URL and MANAGEMENT_URL must be https: keys and health data travel there."
            found.append(checks.Error(message, hint="Put TLS in front.", id="healthsvc.E005"))
            break
    if "*" in settings.ALLOWED_HOSTS:
        found.append(checks.Error("ALLOWED_HOSTS must name hosts.", hint="Remove *.", id="healthsvc.E006"))
    return found


def outbound_check(app_configs: Sequence[AppConfig] | None, **_kwargs: Any) -> list[checks.CheckMessage]:
    """E007: nothing on this machine may be called from outside a development machine."""
    if settings.LOOPBACK_ORIGINS and not settings.EMBEDDED:
        message = "HEALTHSVC_LOOPBACK_ORIGINS lets webhooks reach services on this machine."
        return [checks.Error(message, hint="Unset it.", id="healthsvc.E007")]
    return []


def database_role_check(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **_kwargs: Any
) -> list[checks.CheckMessage]:
    """E008: the service's role must be bound by row-level security. Asked only where a database is named."""
    if not databases or "default" not in databases:
        return []
    query = (
        "SELECT rolsuper, rolbypassrls,"
        " EXISTS (SELECT FROM pg_class WHERE relowner = pg_roles.oid AND relkind IN ('r', 'p'))"
        " FROM pg_roles WHERE rolname = current_user"
    )
    try:
        with connections["default"].cursor() as cursor:
            cursor.execute(query)
            superuser, bypasses, owns = cursor.fetchone() or (True, True, True)
    except DatabaseError:
        return []  # an unreachable database has its own message
    if superuser or bypasses or owns:
        message = "The role of DATABASE_URL is a superuser, bypasses row-level security or owns tables."
        hint = "Give the service a role of its own and name the owner in DATABASE_OWNER_URL."
        return [checks.Error(message, hint=hint, id="healthsvc.E008")]
    return []
