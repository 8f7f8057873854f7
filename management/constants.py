"""Enumerations and numbers of the management app."""

import re
from typing import Final

from django.db.models import TextChoices

from healthsvc.kernel.principal import Environment


class Region(TextChoices):
    """Where a team's data live."""

    US = "us", "us"
    EU = "eu", "eu"


class KeyRole(TextChoices):
    """What a management key may do: everything in the organisation, or what concerns the named teams."""

    ORG_ADMIN = "org_admin"
    TEAM_ADMIN = "team_admin"


class MemberRole(TextChoices):
    """What a person of an organisation may do: as a key, or nothing."""

    ORG_ADMIN = "org_admin"
    TEAM_ADMIN = "team_admin"
    NO_ROLE = "no_role"


class InviteStatus(TextChoices):
    """What came of an invitation."""

    CREATED = "invite_created"
    RESENT = "invite_resent"
    ALREADY_IN_ORG = "already_in_org"


class JobStatus(TextChoices):
    """Where a background job stands."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class ReplyState(TextChoices):
    """Whether the request of an idempotency key has been answered."""

    RUNNING = "running"
    ANSWERED = "answered"


#: First part of a team key, by environment: the sandbox has `sk`, production has `pk`.
TEAM_KEY_PREFIXES: Final = {Environment.SANDBOX: "sk", Environment.PRODUCTION: "pk"}
MANAGEMENT_KEY_PREFIX: Final = "mg"
#: Characters of the public part that finds a key's row.
KEY_ID_CHARACTERS: Final = 8
#: `last_used_at` is written at most this often.
LAST_USED_INTERVAL_SECONDS: Final = 60

#: A team's access token opens the team's API for so long (source: management API).
ACCESS_TOKEN_SECONDS: Final = 600
#: Begins every access token, so that it is told apart from the tokens of devices.
ACCESS_TOKEN_PREFIX: Final = "ta_"  # noqa: S105 - how tokens begin, not a token
#: After a rotation the key before lives on for so long where nothing is said, and at most for so long.
KEY_OVERLAP_SECONDS: Final = 24 * 3600
KEY_OVERLAP_MAXIMUM_SECONDS: Final = 30 * 24 * 3600
#: Begins the `created_by` of what a management key made; its id follows.
CREATED_BY_KEY: Final = "management key"
KEY_LABEL_MAXIMUM_CHARACTERS: Final = 100
#: A deleted team can be brought back for so long; then everything of it is erased. As long as a person's.
TEAM_GRACE_SECONDS: Final = 7 * 24 * 3600
#: What is left of an erased team is its row, under this name.
ERASED_TEAM_NAME: Final = "Erased team"
#: Teams that one run of the sweep takes on, and for how long it goes on; the next one, a minute later, goes on from
#: there.
TEAMS_ERASED_AT_ONCE: Final = 20
TEAM_ERASURE_SECONDS: Final = 50.0

INTEGRATION_TEAM_ID_MAXIMUM_CHARACTERS: Final = 256
MEMBER_NAME_MAXIMUM_CHARACTERS: Final = 200
BRAND_TEXT_MAXIMUM_CHARACTERS: Final = 500
URL_MAXIMUM_CHARACTERS: Final = 2083
#: The longest scope that a provider is known to have is a third of this.
SCOPE_MAXIMUM_CHARACTERS: Final = 200
SCOPES_MAXIMUM: Final = 100
#: Teams that a key or member is bound to, and keys that are deleted with one request.
NAMED_AT_ONCE_MAXIMUM: Final = 100

#: Names of teams and organisations: letters with Latin accents, digits and some marks (source: management API).
NAME_PATTERN: Final = re.compile(r"[A-Za-zÀ-ÖØ-öø-ÿ0-9(),/:'’|&_\-\s]{0,80}")
NAME_MAXIMUM_CHARACTERS: Final = 80
TEAM_PAGE_SIZE: Final = 50
PAGE_SIZE: Final = 50

#: How long a kept reply answers a repeated request.
REPLY_KEPT_SECONDS: Final = 24 * 3600
#: A request still "running" after this is taken for dead: longer than any request may run.
REPLY_RUNNING_SECONDS: Final = 120
#: A longer Idempotency-Key is refused.
REPLY_KEY_MAXIMUM_CHARACTERS: Final = 255

#: `/readyz` wants a worker heard of within this time; workers report every 10 seconds.
WORKER_SEEN_SECONDS: Final = 45


class DuplicateAccountPolicy(TextChoices):
    """What a team wants when a second user connects a vendor account that a first one has."""

    ALLOW = "allow"
    REFUSE = "refuse"  # with duplicate_connection
    MOVE = "move"  # the first user's connection is disconnected


class LogoMediaType(TextChoices):
    """Pictures that browsers show without running anything."""

    PNG = "image/png"
    JPEG = "image/jpeg"
    WEBP = "image/webp"


#: A logo is shown at 120 CSS pixels at most; more than this is no logo.
LOGO_MAXIMUM_BYTES: Final = 200_000
