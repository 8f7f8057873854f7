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
#: Events, and deliveries made of them, in one transaction of the fan-out.
FAN_OUT_ROWS: Final = 500
FAN_OUT_DELIVERIES: Final = 2000
#: A pump that had nothing to do for so long ends; the next event starts one.
PUMP_IDLE_SECONDS: Final = 1.0
#: A pump ends after this, so that a worker's slot is free for others; it asks for a successor if work is left.
PUMP_RUN_SECONDS: Final = 20.0
#: It stays longer where something is due within this: the first of the waits after failures, with its jitter.
PUMP_LINGER_SECONDS: Final = 10.0
PUMP_POLL_SECONDS: Final = 0.05
PUMP_TASK: Final = "webhooks.pump_run"
#: Between two looks of a pump that has work, so that it takes up and writes many at once.
PUMP_GATHER_SECONDS: Final = 0.01
#: A pump that is full asks for another one no more often than this.
PUMP_ASK_SECONDS: Final = 1.0
#: A pump whose time is over goes on while its last answers are out, where so long no other one has taken its slot.
PUMP_RESUME_SECONDS: Final = 0.05
#: Endpoints that a pump looks at in one turn, in random order.
OWED_ENDPOINTS: Final = 1000
#: The sweep leaves younger events to the task that was sent for them.
SWEEP_EVENT_AGE_SECONDS: Final = 10
#: First half of the advisory locks of the pumps that Celery runs, the second is the slot: any number nothing else uses.
PUMP_LOCK: Final = 7_274_002

#: How much of an answer is read, and how much of a failed one is kept.
ANSWER_READ_BYTES: Final = 4096
EXCERPT_CHARACTERS: Final = 250
#: How much of it is scrubbed for that: what is scrubbed gets shorter.
EXCERPT_SOURCE_CHARACTERS: Final = 4 * EXCERPT_CHARACTERS

#: A body is kept below this wherever what it tells of can be cut into several: receivers and the proxies before them
#: refuse large ones, some from 256 KiB on. A summary is never cut.
BODY_MAXIMUM_BYTES: Final = 256 * 1024
#: What the envelope adds to `data` at most: a name, two UUIDs, and a customer's reference of 255 characters, which as
#: JSON may take six bytes each.
ENVELOPE_MAXIMUM_BYTES: Final = 2048

#: Events written in one statement: so many, or as soon as their bodies have so many characters: the largest, a meal of
#: 500 foods, has some 2,000,000.
EMIT_ROWS: Final = 500
EMIT_CHARACTERS: Final = 4_000_000

#: Rows that one transaction of the purge removes, and for how long a run goes on; the next one goes on from there.
PURGE_ROWS: Final = 1000
PURGE_RUN_SECONDS: Final = 300.0
#: Events of a user that one transaction erases.
ERASE_ROWS: Final = 1000

SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - the prefix, not a secret
SECRET_BYTES: Final = 32
#: Bounds of a secret that a customer brings, by Standard Webhooks.
SECRET_MINIMUM_BYTES: Final = 24
SECRET_MAXIMUM_BYTES: Final = 64
#: After a rotation both secrets sign for this long.
ROTATION_OVERLAP_SECONDS: Final = 24 * 3600
ROTATION_OVERLAP_MAXIMUM_SECONDS: Final = 7 * 24 * 3600
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

#: The span of a tally.
TALLY_SECONDS: Final = 5 * 60
#: Names of the totals that the operator's metrics show.
TOTAL_EVENTS_FANNED_OUT: Final = "events_fanned_out"
TOTAL_ATTEMPTS_DELIVERED: Final = "attempts_delivered"
TOTAL_ATTEMPTS_FAILED: Final = "attempts_failed"
TOTAL_DELIVERIES_EXHAUSTED: Final = "deliveries_exhausted"
TOTAL_ATTEMPT_MILLISECONDS: Final = "attempt_milliseconds"

#: A message's id is this and its event's.
MESSAGE_PREFIX: Final = "msg_"
LIST_LIMIT_DEFAULT: Final = 50
LIST_LIMIT_MAXIMUM: Final = 250
#: The channel of a user is this and the user's id.
CHANNEL_USER_PREFIX: Final = "user."
#: Rows that one page of a log looks at where no index serves its filter; the next page goes on from there.
LOG_SCAN_ROWS: Final = 20_000
#: Event types that a filter may stand for and still be an index search each.
LOG_TYPE_BRANCHES: Final = 8
#: An attempt's row is made at most so long after its request began: the timeout, and an acknowledgement that is late.
ATTEMPT_LATE_SECONDS: Final = 300
#: What is owed to an endpoint is counted up to this.
WAITING_COUNT_MAXIMUM: Final = 10_000
#: Deliveries or events that a repair takes up in one transaction.
REPAIR_ROWS: Final = 2000
#: Kinds of background jobs that repair.
RECOVER_JOB: Final = "webhooks_recover"
REPLAY_JOB: Final = "webhooks_replay"
REPAIR_TASK: Final = "webhooks.repair_run"
#: A repair goes through some ten million rows within this; a worker that hangs is stopped, and another takes it up.
REPAIR_SECONDS: Final = 3600
#: Repairs of an endpoint that a list shows.
REPAIRS_SHOWN: Final = 20
#: Repairs of a team and environment that are open at once: they are worked one after the other, with those of others.
REPAIRS_OPEN_MAXIMUM: Final = 5
#: A repair may begin this much before what is kept, so that "as far back as can be" is not refused for a second.
REPAIR_AGE_SLACK_SECONDS: Final = 3600
#: Event types that are named to someone who has mistyped one.
SUGGESTIONS_MAXIMUM: Final = 3
#: Of mistyped ones in a list, how many are told, and to how many of them near names are looked for.
UNKNOWN_TYPES_TOLD: Final = 20
UNKNOWN_TYPES_HINTED: Final = 5

#: Endpoints a team may have in one environment: each event is compared with each.
ENDPOINTS_MAXIMUM: Final = 50

#: Why an endpoint was disabled other than by its owner.
DISABLED_GONE: Final = "gone"
DISABLED_FAILING: Final = "failing"
#: An endpoint fails for good once it failed twice, so far apart, within a day, and then for five days with no success.
FAILING_GAP_SECONDS: Final = 12 * 3600
FAILING_WINDOW_SECONDS: Final = 24 * 3600
FAILING_MAXIMUM_SECONDS: Final = 5 * 24 * 3600
#: Connections in a row that fail before an endpoint is treated as one that lets requests hang.
CONNECTION_FAILURES_STRUGGLING: Final = 3
#: Requests in flight to an endpoint that lets them hang: they show when it is back, and cost others nothing.
IN_FLIGHT_STRUGGLING_MAXIMUM: Final = 2
#: Of one that this pump has no quick answer of yet.
IN_FLIGHT_UNPROVEN_MAXIMUM: Final = 4
#: An answer is quick below this: slower ones, one after the other, would fill a pump.
QUICK_SECONDS: Final = 3
#: The pause that a 429 without a Retry-After asks for.
OVERLOAD_PAUSE_SECONDS: Final = 60
#: Letters that a mail server did not take are tried again after as long as they are old, within these bounds.
LETTER_WAIT_MINIMUM_SECONDS: Final = 60
LETTER_WAIT_MAXIMUM_SECONDS: Final = 6 * 3600
#: Letters that one run of the task sends at most; the sweep goes on with the rest.
LETTER_ROWS: Final = 50
#: Replaced secrets that sign along: each adds a signature to two headers, whose length is bounded by receivers.
SECRETS_BEFORE_MAXIMUM: Final = 5

#: A link to the portal opens once, and within this.
PORTAL_LINK_SECONDS: Final = 10 * 60
#: A browser's session at the portal: from its opening, and from the last page that was asked for.
PORTAL_SESSION_SECONDS: Final = 8 * 3600
PORTAL_IDLE_SECONDS: Final = 30 * 60
#: The time of the last page is written no more often than this.
PORTAL_SEEN_SECONDS: Final = 60
