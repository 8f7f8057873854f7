"""Enumerations and numbers of the links app."""

from typing import Final

from django.db.models import TextChoices


class LinkErrorType(TextChoices):
    """Why a link did not come about (source: the interface's list; it may grow)."""

    INVALID_TOKEN = "invalid_token"  # noqa: S105 - the name of an error
    TOKEN_EXPIRED = "token_expired"  # noqa: S105 - the name of an error
    TOKEN_NOT_VALIDATED = "token_not_validated"  # noqa: S105 - the name of an error
    TOKEN_CONSUMED = "token_consumed"  # noqa: S105 - the name of an error
    PROVIDER_CREDENTIAL_ERROR = "provider_credential_error"
    PROVIDER_PASSWORD_EXPIRED = "provider_password_expired"  # noqa: S105 - the name of an error
    PROVIDER_API_ERROR = "provider_api_error"
    UNSUPPORTED_REGION = "unsupported_region"
    DUPLICATE_CONNECTION = "duplicate_connection"
    REQUIRED_SCOPES_NOT_GRANTED = "required_scopes_not_granted"
    INCORRECT_MFA_CODE = "incorrect_mfa_code"
    USER_CANCELLED = "user_cancelled"


def link_error_type_read(text: str) -> LinkErrorType:
    """A stored error type. One that another release knows and we don't is told as the provider's error."""
    return LinkErrorType(text) if text in LinkErrorType.values else LinkErrorType.PROVIDER_API_ERROR


class ConnectionErrorType(TextChoices):
    """Why a connection broke (source: the interface's connection error details)."""

    TOKEN_REFRESH_FAILED = "token_refresh_failed"  # noqa: S105 - the name of an error
    WEBHOOK_REGISTRATION_FAILED = "webhook_registration_failed"
    USER_NOT_FOUND = "user_not_found"
    DEREGISTERED_PER_PROVIDER = "deregistered_per_provider"
    REQUIRED_SCOPES_NOT_GRANTED = "required_scopes_not_granted"
    PROVIDER_CREDENTIAL_ERROR = "provider_credential_error"
    PROVIDER_PASSWORD_EXPIRED = "provider_password_expired"  # noqa: S105 - the name of an error
    UNKNOWN = "unknown"


class PullKind(TextChoices):
    """Why data are pulled: the first time after connecting, or again later."""

    BACKFILL = "backfill"
    REFRESH = "refresh"


class BulkOpType(TextChoices):
    """What a bulk operation does (source: the interface's enumeration)."""

    IMPORT = "link_bulk_import"
    HISTORICAL_TRIGGER = "link_bulk_historical_trigger"


class BulkItemStatus(TextChoices):
    """What became of one user of a bulk operation."""

    PENDING = "pending"
    PROCESSED = "processed"
    FAILED = "failed"


class SessionEnd(TextChoices):
    """Why a device's session ended."""

    SIGNED_OUT = "signed_out"
    REVOKED = "revoked"
    TOKEN_REUSED = "token_reused"  # noqa: S105 - a reason
    USER_DELETED = "user_deleted"


class SessionTokenKind(TextChoices):
    """What a session's token is for."""

    ACCESS = "access"
    REFRESH = "refresh"


#: A link token is good for an hour.
LINK_TOKEN_SECONDS: Final = 3600
#: From leaving for a provider's login to coming back from it.
OAUTH_STATE_SECONDS: Final = 600
#: Spent tokens and what hangs on them are kept this long, so that a late reload still gets a true answer.
LINK_TOKEN_KEPT_SECONDS: Final = 7 * 24 * 3600

REDIRECT_URL_MAXIMUM_CHARACTERS: Final = 2000

#: One call to a provider. Shorter than the leases below, so that a lease outlives the call it protects.
PROVIDER_TIMEOUT_SECONDS: Final = 20
#: The largest answer read from a provider: a page of a month's five-minute points is under 2 MB.
PROVIDER_ANSWER_MAXIMUM_BYTES: Final = 8_000_000
TOKEN_ANSWER_MAXIMUM_BYTES: Final = 64_000

#: An access token this close to its end is renewed before it is used.
TOKEN_MARGIN_SECONDS: Final = 120
#: How long one worker may take to renew a connection's tokens before another may try.
TOKEN_LEASE_SECONDS: Final = 60
#: A worker that finds another one renewing comes back after this.
TOKEN_LEASE_WAIT_SECONDS: Final = 3
#: A connection is declared broken after this many refusals in a row to renew its tokens.
TOKEN_REFUSALS_MAXIMUM: Final = 3

#: A running pull renews its lease before every call; one whose lease ran out is taken up by another worker.
PULL_LEASE_SECONDS: Final = 120
#: A pull that failed this often is given up.
PULL_ATTEMPTS_MAXIMUM: Final = 8
#: Seconds before the next attempt, by how many failed; the last one repeats.
PULL_BACKOFF_SECONDS: Final = (5, 15, 60, 300, 900, 3600)
#: A provider that names a longer wait is taken at its word up to this.
PULL_WAIT_MAXIMUM_SECONDS: Final = 24 * 3600
#: Pulls that one run of the sweep wakes.
PULLS_A_SWEEP: Final = 500

#: A refresh reads this many days again: providers revise what they told of the last days.
REFRESH_DAYS: Final = 3
#: And never more than this, however long ago the last good pull was.
REFRESH_DAYS_MAXIMUM: Final = 30
#: The interface's limit of refreshes of one user.
REFRESH_QUOTA: Final = 8
REFRESH_WINDOW_SECONDS: Final = 3600
REFRESH_TIMEOUT_SECONDS: Final = (5, 10, 60)

#: The simulator takes any client id with this secret (source: simulator.catalogue).
SIMULATOR_CLIENT_ID: Final = "healthsvc"
SIMULATOR_CLIENT_SECRET: Final = "simulator-secret"  # noqa: S105 - the published secret of a program that guards nothing
