"""Numbers and names of the webhooks app, each with its unit and reason."""

import re
from typing import Final

#: The wait after each failed attempt, so that attempts come at 0, 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 10 h, each after
#: the one before; after the eighth the delivery has failed.
RETRY_DELAYS_SECONDS: Final = (5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 10 * 3600)
#: Each wait is this fraction longer or shorter at random, so that what failed together does not come back together.
RETRY_JITTER: Final = 0.2
#: A longer Retry-After is cut to this, so that no answer can park a delivery for good.
RETRY_AFTER_MAXIMUM_SECONDS: Final = 24 * 3600

#: From resolving the name to the end of the answer.
TIMEOUT_SECONDS: Final = 15.0
#: How long a claim holds: longer than the timeout and the acknowledgement of a whole batch.
LEASE_SECONDS: Final = 60
#: Requests in flight in one pump.
IN_FLIGHT_MAXIMUM: Final = 512
#: Requests in flight to one endpoint above which no more of it is claimed, so that one that hangs leaves room.
IN_FLIGHT_ENDPOINT_MAXIMUM: Final = 32
CLAIM_ROWS: Final = 256
FAN_OUT_ROWS: Final = 500
#: A pump that had nothing to do for so long ends; the next event starts one.
PUMP_IDLE_SECONDS: Final = 1.0
#: A pump ends after this, so that a worker's slot is free for others; it asks for a successor if work is left.
PUMP_RUN_SECONDS: Final = 20.0
PUMP_POLL_SECONDS: Final = 0.05
#: The sweep leaves younger events to the task that was sent for them.
SWEEP_EVENT_AGE_SECONDS: Final = 10
#: Advisory lock of the pump that Celery runs: any number nothing else uses.
PUMP_LOCK: Final = 7_274_002

#: How much of an answer is read, and how much of a failed one is kept.
ANSWER_READ_BYTES: Final = 4096
EXCERPT_CHARACTERS: Final = 250

#: Events written in one statement: so many, or as soon as their bodies have so many characters: the
#: largest have about 700,000.
EMIT_ROWS: Final = 500
EMIT_CHARACTERS: Final = 4_000_000

#: How long events, deliveries and attempts are kept.
RETENTION_DAYS: Final = 30
PURGE_ROWS: Final = 1000

SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - the prefix, not a secret
SECRET_BYTES: Final = 32
#: Bounds of a secret that a customer brings, by Standard Webhooks.
SECRET_MINIMUM_BYTES: Final = 24
SECRET_MAXIMUM_BYTES: Final = 64
#: After a rotation both secrets sign for this long.
ROTATION_OVERLAP_SECONDS: Final = 24 * 3600
#: A receiver refuses an older or younger timestamp.
TIMESTAMP_TOLERANCE_SECONDS: Final = 300

URL_MAXIMUM_CHARACTERS: Final = 2000
DESCRIPTION_MAXIMUM_CHARACTERS: Final = 1000
EVENT_TYPE_MAXIMUM_CHARACTERS: Final = 200
FILTER_TYPES_MAXIMUM: Final = 500
#: An event type or the beginning of some: `daily.data.sleep.created`, `daily.data`, `daily.data.*`.
FILTER_TYPE_PATTERN: Final = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*(\.\*)?")
RATE_LIMIT_MAXIMUM: Final = 100_000

#: What an endpoint may choose events by besides their type: `user.<id>`, `provider.<slug>`.
CHANNEL_MAXIMUM_CHARACTERS: Final = 128
CHANNELS_MAXIMUM: Final = 50
CHANNEL_PATTERN: Final = re.compile(r"[A-Za-z0-9_.:-]+")

HEADERS_MAXIMUM: Final = 50
HEADER_NAME_MAXIMUM_CHARACTERS: Final = 100
HEADER_VALUE_MAXIMUM_CHARACTERS: Final = 4000
HEADER_NAME_PATTERN: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
#: Visible ASCII and inner blanks.
HEADER_VALUE_PATTERN: Final = re.compile(r"[!-~]([ \t!-~]*[!-~])?")
#: Headers that are ours or the connection's.
HEADERS_RESERVED: Final = frozenset(
    {"host", "content-length", "content-type", "content-encoding", "transfer-encoding", "connection", "te", "trailer",
     "upgrade", "expect", "keep-alive", "proxy-connection", "user-agent", "accept-encoding"}
)  # fmt: skip
HEADER_PREFIXES_RESERVED: Final = ("webhook-", "svix-")
#: A header whose name holds one of these is a secret: its value is never shown again.
HEADER_WORDS_SENSITIVE: Final = ("auth", "token", "key", "secret", "password", "cookie", "credential", "signature")

LIST_LIMIT_DEFAULT: Final = 50
LIST_LIMIT_MAXIMUM: Final = 250
#: Endpoints a team may have in one environment: each event is compared with each.
ENDPOINTS_MAXIMUM: Final = 50

#: Why an endpoint was disabled other than by its owner.
DISABLED_GONE: Final = "gone"
#: Replaced secrets that sign along: each adds a signature to two headers, whose length is bounded by receivers.
SECRETS_BEFORE_MAXIMUM: Final = 5
