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

#: A link code is good for an hour, unless the customer asks for another end.
LINK_CODE_SECONDS: Final = 3600
#: And never for longer: every code that lives makes a guess more likely to hit one.
LINK_CODE_SECONDS_MAXIMUM: Final = 7 * 24 * 3600
#: Codes that were never made, tried in one hour from one network, and by everybody among codes of one beginning
#: (environment and region). docs/mobile.md has the arithmetic.
GUESS_WINDOW_SECONDS: Final = 3600
GUESSES_OF_A_NETWORK: Final = 10
GUESSES_OF_A_BEGINNING: Final = 20
#: A sign-in token is handed to one device at once.
SIGN_IN_TOKEN_SECONDS: Final = 3600
#: Short, for it can't be told that it was stolen; a device renews it without the person.
ACCESS_TOKEN_SECONDS: Final = 3600
#: From its last renewal. A person signs in once a device, and a telephone may lie in a drawer for a season.
REFRESH_TOKEN_SECONDS: Final = 365 * 24 * 3600
#: An answer that never reached the device may be asked for again this long.
REFRESH_AGAIN_SECONDS: Final = 60
#: A refresh token that was used is remembered this long, so that whoever shows it again ends the session.
REFRESH_USED_KEPT_SECONDS: Final = 30 * 24 * 3600
#: Ended sessions, spent codes and sign-in tokens are kept this long.
SESSION_KEPT_SECONDS: Final = 7 * 24 * 3600
#: Rows that one statement of a purge removes.
PURGED_AT_ONCE: Final = 1000
#: And for how long one purge goes on; the next run, an hour later, goes on from there.
PURGE_SECONDS: Final = 60

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
#: Pauses after the refusals before the last, in which nobody asks again: a vendor's bad minute breaks no connection.
TOKEN_REFUSAL_PAUSES_SECONDS: Final = (60, 600)
#: Connections made in one moment are renewed apart from each other: by up to so much earlier, each at its own time.
TOKEN_JITTER_SECONDS: Final = 600
#: A connection is declared broken after this many refusals in a row to renew its tokens.
TOKEN_REFUSALS_MAXIMUM: Final = 3

#: Who revokes a grant keeps others from it for so long; longer than the calls it takes.
REVOCATION_LEASE_SECONDS: Final = 120
#: Seconds before the next attempt at a revocation, by how many failed; the last one repeats.
REVOCATION_BACKOFF_SECONDS: Final = (30, 120, 600, 1800, 3600, 2 * 3600, 6 * 3600, 12 * 3600, 24 * 3600)
#: A grant that could not be revoked for so long is given up, and its tokens are wiped.
REVOCATION_GIVE_UP_SECONDS: Final = 30 * 24 * 3600
#: Sooner where its person or team is erased, but not before it was tried for so long.
REVOCATION_TRIED_SECONDS: Final = 3 * 24 * 3600
#: Those that ended are kept this long, without tokens, for whoever asks what became of them.
REVOCATION_KEPT_SECONDS: Final = 30 * 24 * 3600
#: Revocations that one run of the sweep wakes.
REVOCATIONS_A_SWEEP: Final = 500

#: A provider that names a longer stop is taken at its word up to this.
PROVIDER_BLOCK_MAXIMUM_SECONDS: Final = 24 * 3600
#: In the sandbox nobody's machines are guarded: long enough to see that it stops.
SANDBOX_BLOCK_MAXIMUM_SECONDS: Final = 60
#: The simulator guards no vendor's machines: it takes so many times what the vendor takes, from all sandboxes together.
SIMULATOR_BUDGET_FACTOR: Final = 100
#: Counted windows are kept this long; the longest window is a day.
BUDGET_KEPT_SECONDS: Final = 2 * 24 * 3600

#: A running pull renews its lease before every call; one whose lease ran out is taken up by another worker.
PULL_LEASE_SECONDS: Final = 120
#: A pull that failed this often is given up.
PULL_ATTEMPTS_MAXIMUM: Final = 8
#: Seconds before the next attempt, by how many failed; the last one repeats.
PULL_BACKOFF_SECONDS: Final = (5, 15, 60, 300, 900, 3600)
#: A provider that names a longer wait is taken at its word up to this.
PULL_WAIT_MAXIMUM_SECONDS: Final = 24 * 3600
#: Pulls that are read at once from among those that are due.
PULLS_A_SWEEP: Final = 500
#: Pulls that workers are told of before they can take them, for each worker there is: what is told of can't be
#: overtaken, so the rest waits in the database, where whoever has waited less can go first.
PULLS_WOKEN_A_WORKER: Final = 5
#: And by one team at once, where its users connect or ask for fresh data.
PULLS_WOKEN_OF_A_TEAM: Final = 20
#: A worker that was told and has not come for so long may never have heard of it.
PULL_WOKEN_SECONDS: Final = 60

#: A refresh reads this many days again: providers revise what they told of the last days.
REFRESH_DAYS: Final = 3
#: And never more than this, however long ago the last good pull was.
REFRESH_DAYS_MAXIMUM: Final = 30
#: Days missed longer ago than this are not asked for when a connection works again: nobody waits for them.
GAP_DAYS_MAXIMUM: Final = 730
#: After a backfill was given up, the next scheduled one waits a day: what an hour did not mend, a day may.
BACKFILL_AGAIN_SECONDS: Final = 24 * 3600
#: Given up again, it waits twice as long each time, up to this.
BACKFILL_AGAIN_MAXIMUM_SECONDS: Final = 32 * 24 * 3600
#: A resource that the provider refuses is asked for again a day later, not every hour.
RESOURCE_REST_SECONDS: Final = 24 * 3600
#: A connection is broken once every resource was refused for its scope on so many days; pulls are kept as long.
SCOPE_REFUSALS_DAYS: Final = 3
#: Ended pulls of a resource are kept this long, for whoever asks how they went; its last ones always.
PULLS_KEPT_DAYS: Final = 3
#: And those of a connection that has ended this long.
PULLS_OF_ENDED_KEPT_SECONDS: Final = 30 * 24 * 3600

#: Every connection is pulled once an hour: wearables reach their provider a few times a day, so an hour loses nothing.
PULL_INTERVAL_SECONDS: Final = 3600
#: Where the provider calls us when data change, pulls only catch what its calls left out.
PULL_INTERVAL_WITH_HOOKS_SECONDS: Final = 6 * 3600
#: A subscription that was silent for longer than this may have died at the provider.
HOOK_TRUSTED_SECONDS: Final = 24 * 3600
#: Intervals differ by up to this, so that connections made together are not pulled together for ever.
PULL_INTERVAL_JITTER_PERCENT: Final = 10
#: Connections that one run of the schedule takes at once; it goes on until none is due, at most so many times.
CONNECTIONS_A_BATCH: Final = 100
CONNECTION_BATCHES_A_RUN: Final = 40
#: A connection whose scheduling died half-way comes due again after this.
SCHEDULE_CLAIM_SECONDS: Final = 600
#: After `ingestion_end` late data are pulled for a week (source: the interface's reference).
INGESTION_CATCH_UP_DAYS: Final = 7

#: The interface's limit of refreshes of one user.
REFRESH_QUOTA: Final = 8
REFRESH_WINDOW_SECONDS: Final = 3600
REFRESH_TIMEOUT_SECONDS: Final = (5, 10, 60)

#: The simulator takes any client id with this secret (source: simulator.catalogue).
SIMULATOR_CLIENT_ID: Final = "healthsvc"
SIMULATOR_CLIENT_SECRET: Final = "simulator-secret"  # noqa: S105 - the published secret of a program that guards nothing

#: Users in one bulk operation; more go into several.
BULK_ITEMS_MAXIMUM: Final = 1_000
#: A thousand recipes with the longest tokens that vendors give.
BULK_BODY_MAXIMUM_BYTES: Final = 8_000_000
#: How long a caller may wait for a bulk operation (source: the interface's reference).
BULK_WAIT_SECONDS: Final = 20
#: A worker renews its lease with each of so many users; another takes over once it has run out.
BULK_ITEMS_AT_ONCE: Final = 20
BULK_LEASE_SECONDS: Final = 60
#: A worker goes on with one operation for so long, then it takes its turn behind whatever else waits.
BULK_TURN_SECONDS: Final = 2
#: Operations that a team may have open in one environment; five thousand users are a day's work for some vendors.
BULK_OPS_OPEN_MAXIMUM: Final = 5
BULK_OPS_RETRY_SECONDS: Final = 30
BULK_EXPORT_PAGE_SIZE: Final = 100
#: A user that fails for a reason nobody foresaw is tried so often, a lease apart, and keeps its tokens till then.
BULK_ATTEMPTS_MAXIMUM: Final = 3
#: Operations that ended are listed this long.
BULK_KEPT_SECONDS: Final = 30 * 24 * 3600

#: A provider's notification is small; those that carry data of a day are under 100 kB.
HOOK_BODY_MAXIMUM_BYTES: Final = 256_000
#: A notification whose signed instant is further from now is refused: it may be somebody's copy.
HOOK_SIGNATURE_SECONDS: Final = 300
#: One worker's time to list, renew or make a subscription, with tokens that must be renewed first.
HOOK_LEASE_SECONDS: Final = 120
#: A subscription that could not be made this often in a row has failed, and is tried once a day from then on.
HOOK_ATTEMPTS_MAXIMUM: Final = 8
#: An end that could not be told to the provider this often is left to it: our address answers it no more.
HOOK_DROP_ATTEMPTS_MAXIMUM: Final = 5
HOOK_FAILED_WAIT_SECONDS: Final = 24 * 3600
#: A subscription that stands is asked for again this often, for providers forget those that failed for a while.
HOOK_CHECK_SECONDS: Final = 7 * 24 * 3600
#: Subscriptions that one run of the sweep wakes.
HOOKS_A_SWEEP: Final = 500
#: Days that a notification may ask to be read again; what is older waits for a backfill.
NOTICE_DAYS_MAXIMUM: Final = 90
#: Connections of one account that are read from the database at once.
NOTICE_CONNECTIONS_A_BATCH: Final = 100
