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

#: Names of teams and organisations: letters with Latin accents, digits and some marks (source: management API).
NAME_PATTERN: Final = re.compile(r"[A-Za-zÀ-ÖØ-öø-ÿ0-9(),/:'’|&_\-\s]{0,80}")
NAME_MAXIMUM_CHARACTERS: Final = 80
TEAM_PAGE_SIZE: Final = 50

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
