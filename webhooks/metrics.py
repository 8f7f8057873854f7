"""Figures of delivery for Prometheus, read from the database when they are asked for: no process keeps any of its own.

No figure names a team, an endpoint or a person. What could grow without bound is counted up to `COUNTED_MAXIMUM`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection, transaction
from django.db.models import Case, CharField, Count, F, Q, Value, When
from django.db.models.functions import Concat
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from healthsvc.kernel import clock
from healthsvc.kernel.scope import SystemScope, system_scope
from management.constants import JobStatus
from management.models import BackgroundJob, WorkerSighting
from webhooks import constants
from webhooks.constants import LEASE_SECONDS, PUMP_LOCK
from webhooks.models import Endpoint, Total

#: A backlog is counted no further than this: then it is large, whatever it is.
COUNTED_MAXIMUM: Final = 100_000
#: Endpoints with a backlog whose oldest delivery is looked at.
_BACKLOGS_MAXIMUM: Final = 10_000
_STATEMENT_MILLISECONDS: Final = 5000

#: Endpoints that are owed anything are found by skipping through the index, as pumps find them.
_WAITING: Final = """
WITH RECURSIVE owed (endpoint_id) AS (
    (SELECT endpoint_id FROM webhooks_delivery WHERE status IN ('pending', 'sending') ORDER BY endpoint_id LIMIT 1)
    UNION ALL
    SELECT (SELECT later.endpoint_id FROM webhooks_delivery AS later
             WHERE later.status IN ('pending', 'sending') AND later.endpoint_id > owed.endpoint_id
             ORDER BY later.endpoint_id LIMIT 1)
      FROM owed WHERE owed.endpoint_id IS NOT NULL
), backlog (is_held, due_at) AS MATERIALIZED (
    SELECT endpoint.rate_limit IS NOT NULL OR health.struggling_since IS NOT NULL
               OR coalesce(health.paused_until > %(now)s, false)
               OR EXISTS (SELECT FROM management_team AS team
                           WHERE team.id = endpoint.team_id AND team.deleted_at IS NOT NULL),
           (SELECT next_attempt_at FROM webhooks_delivery
             WHERE endpoint_id = owing.endpoint_id AND status IN ('pending', 'sending')
             ORDER BY next_attempt_at LIMIT 1)
      FROM (SELECT endpoint_id FROM owed WHERE endpoint_id IS NOT NULL LIMIT %(backlogs)s) AS owing
      JOIN webhooks_endpoint AS endpoint ON endpoint.id = owing.endpoint_id
      LEFT JOIN webhooks_endpoint_health AS health ON health.endpoint_id = owing.endpoint_id
)
SELECT (SELECT count(*) FROM (SELECT FROM webhooks_event WHERE fanned_out_at IS NULL LIMIT %(counted)s) AS waiting),
       (SELECT created_at FROM webhooks_event WHERE fanned_out_at IS NULL ORDER BY id LIMIT 1),
       (SELECT count(*) FROM (SELECT FROM webhooks_delivery
                               WHERE status IN ('pending', 'sending') LIMIT %(counted)s) AS open),
       (SELECT count(*) FROM (SELECT FROM webhooks_delivery WHERE status IN ('pending', 'sending')
                               AND next_attempt_at <= %(now)s LIMIT %(counted)s) AS due),
       (SELECT count(*) FROM (SELECT FROM webhooks_delivery
                               WHERE status = 'sending' AND next_attempt_at > %(now)s
                                 AND next_attempt_at <= %(now)s + %(lease_seconds)s * interval '1 second'
                               LIMIT %(counted)s) AS flying),
       (SELECT min(due_at) FROM backlog WHERE NOT is_held),
       (SELECT min(due_at) FROM backlog WHERE is_held)
"""
_PUMPS: Final = """
SELECT count(*) FROM pg_locks
 WHERE locktype = 'advisory' AND granted AND classid = %s AND objsubid = 2
   AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
_ENABLED: Final = "enabled"
_DISABLED: Final = "disabled"
#: Every word that `_endpoints` can answer, so that a series does not vanish when it is nought.
_STATES: Final = (
    _ENABLED,
    "paused",
    "struggling",
    "failing",
    _DISABLED,
    f"{_DISABLED}_{constants.DISABLED_GONE}",
    f"{_DISABLED}_{constants.DISABLED_FAILING}",
)


@dataclass(frozen=True, slots=True)
class Figures:
    """What is told, all of one moment."""

    events_waiting: int
    oldest_event_seconds: float
    deliveries_open: int
    deliveries_due: int
    deliveries_in_flight: int
    oldest_due_seconds: float
    oldest_due_held_seconds: float
    pumps: int
    totals: Mapping[str, int]
    endpoints: Mapping[str, int]
    jobs: Mapping[tuple[str, str], int]
    worker_seen_seconds: float | None


def figures() -> Figures:
    """Every figure. Six queries, each of bounded cost; together they are ended after five seconds."""
    now = clock.now()
    with system_scope(SystemScope.DELIVERY), transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = %s", [_STATEMENT_MILLISECONDS])
            parameters: dict[str, Any] = {
                "now": now,
                "backlogs": _BACKLOGS_MAXIMUM,
                "counted": COUNTED_MAXIMUM,
                "lease_seconds": LEASE_SECONDS,
            }
            cursor.execute(_WAITING, parameters)
            waiting, oldest, open_count, due, flying, free_at, held_at = cursor.fetchone()
            cursor.execute(_PUMPS, [PUMP_LOCK])
            (pumps,) = cursor.fetchone()
        seen_at = WorkerSighting.objects.filter(name="default").values_list("seen_at", flat=True).first()
        return Figures(
            events_waiting=waiting,
            oldest_event_seconds=_age_seconds(oldest, now),
            deliveries_open=open_count,
            deliveries_due=due,
            deliveries_in_flight=flying,
            oldest_due_seconds=_age_seconds(free_at, now),
            oldest_due_held_seconds=_age_seconds(held_at, now),
            pumps=pumps,
            totals=dict(Total.objects.values_list("name", "value")),
            endpoints=_endpoints(now),
            jobs=_jobs(),
            worker_seen_seconds=_age_seconds(seen_at, now) if seen_at else None,
        )


def metrics_text() -> bytes:
    """The figures in Prometheus' text format 0.0.4."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collected(figures()))
    return generate_latest(registry)


class _Collected(Collector):
    """What `generate_latest` asks."""

    def __init__(self, found: Figures) -> None:
        self._found = found

    def collect(self) -> Iterator[Metric]:
        """Gauges, then counters."""
        yield from _gauges(self._found)
        yield from _counters(self._found)


def _gauges(found: Figures) -> Iterator[Metric]:
    single = (
        ("events_waiting", "Events that were not fanned out to endpoints yet.", found.events_waiting),
        ("events_oldest_waiting_seconds", "Age of the oldest of them.", found.oldest_event_seconds),
        ("deliveries_open", "Deliveries that are owed, now or later.", found.deliveries_open),
        ("deliveries_due", "Deliveries whose time has come.", found.deliveries_due),
        ("deliveries_in_flight", "Deliveries that a pump has claimed within its lease.", found.deliveries_in_flight),
        ("pumps", "Pumps that workers run now.", found.pumps),
    )
    for name, meaning, value in single:
        yield GaugeMetricFamily(f"healthsvc_webhook_{name}", meaning, value=value)
    oldest = GaugeMetricFamily(
        "healthsvc_webhook_deliveries_oldest_due_seconds",
        "For how long the oldest has been due; held: its endpoint is paused, struggling or rate-limited.",
        labels=["endpoint"],
    )
    oldest.add_metric(["free"], found.oldest_due_seconds)
    oldest.add_metric(["held"], found.oldest_due_held_seconds)
    yield oldest
    endpoints = GaugeMetricFamily("healthsvc_webhook_endpoints", "Endpoints by how they stand.", labels=["state"])
    for state in sorted({*_STATES, *found.endpoints}):
        endpoints.add_metric([state], found.endpoints.get(state, 0))
    yield endpoints
    jobs = GaugeMetricFamily("healthsvc_jobs", "Background jobs that have not ended.", labels=["kind", "status"])
    for (kind, status), count in sorted(found.jobs.items()):
        jobs.add_metric([kind, status], count)
    yield jobs
    if found.worker_seen_seconds is not None:
        meaning = "Since when no worker was heard of; they report every ten seconds."
        yield GaugeMetricFamily("healthsvc_worker_seen_seconds", meaning, value=found.worker_seen_seconds)


def _counters(found: Figures) -> Iterator[Metric]:
    attempts = CounterMetricFamily("healthsvc_webhook_attempts", "Requests made, by outcome.", labels=["outcome"])
    attempts.add_metric(["delivered"], found.totals.get(constants.TOTAL_ATTEMPTS_DELIVERED, 0))
    attempts.add_metric(["failed"], found.totals.get(constants.TOTAL_ATTEMPTS_FAILED, 0))
    yield attempts
    milliseconds = found.totals.get(constants.TOTAL_ATTEMPT_MILLISECONDS, 0)
    single = (
        ("attempt_seconds", "Time that those requests took, together.", milliseconds / 1000),
        (
            "deliveries_exhausted",
            "Deliveries that were given up.",
            found.totals.get(constants.TOTAL_DELIVERIES_EXHAUSTED, 0),
        ),
        ("events_fanned_out", "Events fanned out.", found.totals.get(constants.TOTAL_EVENTS_FANNED_OUT, 0)),
    )
    for name, meaning, value in single:
        yield CounterMetricFamily(f"healthsvc_webhook_{name}", meaning, value=value)


def _endpoints(now: datetime) -> dict[str, int]:
    """Endpoints by the worst that is known of each."""
    state = Case(
        When(disabled=True, disabled_reason="", then=Value(_DISABLED)),
        When(disabled=True, then=Concat(Value(f"{_DISABLED}_"), F("disabled_reason"))),
        When(health__failing_since__isnull=False, then=Value("failing")),
        When(health__paused_until__gt=now, then=Value("paused")),
        When(health__struggling_since__isnull=False, then=Value("struggling")),
        default=Value(_ENABLED),
        output_field=CharField(),
    )
    rows = Endpoint.objects.kept().annotate(state=state).values("state").order_by().annotate(count=Count("pk"))
    return {row["state"]: row["count"] for row in rows}


def _jobs() -> dict[tuple[str, str], int]:
    open_jobs = BackgroundJob.objects.filter(Q(status=JobStatus.QUEUED) | Q(status=JobStatus.RUNNING))
    rows = open_jobs.values_list("kind", "status").order_by().annotate(Count("pk"))
    return {(kind, status): count for kind, status, count in rows}


def _age_seconds(moment: datetime | None, now: datetime) -> float:
    """How long ago; nought for the future and for nothing."""
    return max(0.0, (now - moment).total_seconds()) if moment else 0.0
