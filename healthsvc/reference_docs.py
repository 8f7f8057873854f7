"""The generated pages of `docs/`: errors, settings, events, resources, the query, written from the code they describe."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path

from django.conf import settings

from aggregation.catalogue import (
    SERIES,
    STREAMS,
    SUMMARIES,
    FieldKind,
    FieldSpec,
    SampleField,
    SampleFieldKind,
    SeriesSpec,
    StreamSpec,
    SummarySpec,
)
from aggregation.query.schema import ColumnType
from aggregation.query_reader import SCHEMA
from aggregation.sports import SPORTS
from healthsvc import env
from healthsvc.event_docs import events_page
from healthsvc.kernel.errors import ErrorCode
from healthsvc.provider_docs import providers_page

_NOTICE = "<!-- Written by `manage.py docs_generate`; change the code, not this page. -->\n"

#: What each environment variable is for. A variable without a line here fails the tests.
SETTING_MEANINGS: Mapping[str, str] = {
    "ALLOWED_HOSTS": "Host names the service answers to, comma separated.",
    "AUDIT_RETENTION_MONTHS": "How long records of the audit trail are kept; their seals stay.",
    "BASE_URL": "The address people and clients reach the team API and the link pages at.",
    "DATABASE_CONNECTION_SECONDS": "How long a database connection is kept open between requests.",
    "DATABASE_OWNER_URL": "PostgreSQL as the role that owns the tables; used by `migrate` only.",
    "DATABASE_STATEMENT_SECONDS": "A statement that runs longer is ended, and its request answers 503; 0 for never.",
    "DATABASE_URL": "PostgreSQL as the service's own role, which owns nothing and obeys row-level security.",
    "DEBUG": "Django's debug mode; refused outside the embedded default.",
    "EMAIL_FROM": "The address that letters come from; needed where EMAIL_URL is set.",
    "EMAIL_URL": "Mail server, `smtp://user:password@host:port` or `smtps://…`. Empty: no e-mail, a log line tells.",
    "EXPORT_MAXIMUM_BYTES": "The largest Apple Health export that is taken, as it is on the wire.",
    "FIELD_ENCRYPTION_KEYS": "`id:base64 of 32 bytes`, comma separated, the current key first; old keys still open.",
    "HEALTHSVC_BROKER_DIR": "Folder of the filesystem broker, used where REDIS_URL is empty.",
    "HEALTHSVC_DATA_DIR": "Where the embedded servers, stored files and secrets of the embedded default live.",
    "HEALTHSVC_EMBEDDED": "Set by `make run`: servers and secrets are this machine's own, some checks are softer.",
    "HEALTHSVC_LOOPBACK_ORIGINS": "Exact origins on this machine that outbound requests may reach; embedded only.",
    "KEY_PEPPER": "Keys the hashes of API keys and tokens. Losing it makes every key unknown.",
    "PROVIDER_CATALOGUE_DIR": "Folder of the operator's own provider files; docs/providers.md says what is in them.",
    "LINK_CODE_SCHEME": "URL scheme of the exchange URL of link codes.",
    "LINK_TOKEN_HEADERS": "Header names a link token is taken from.",
    "LOG_JSON": "Log lines as JSON.",
    "LOG_LEVEL": "Least severe level that is logged.",
    "MANAGEMENT_KEY_HEADERS": "Header names a management key is taken from.",
    "MANAGEMENT_URL": "The address of the management API.",
    "METRICS_TOKEN": "Bearer token that opens `/metrics` at the management address; empty: there is no such address.",
    "OUTBOUND_ALLOWED_NETWORKS": "Private networks (CIDR) that webhooks may reach; none by default.",
    "PARQUET_MEDIA_TYPE": "Media type of the aggregation query's Parquet archive.",
    "QUALIFIED_COLUMN_NAMES": "Name aggregation columns `func.column` always.",
    "RATE_LIMIT_REQUESTS": "Requests a key may make in a window; 0 for no limit.",
    "RATE_LIMIT_WINDOW_SECONDS": "Length of that window.",
    "REDIS_URL": "`redis://…`, `rediss://…` or `unix:///path?db=0`. Empty: filesystem broker, no rate limits.",
    "SECRET_KEY": "Signs sessions and forms; at least 43 random characters.",
    "SIMULATOR_URL": "Where the provider simulator answers, for sandbox keys.",
    "STAFF_NOTICE_EMAILS": "Who of the staff is written to when a webhook endpoint is disabled, comma separated.",
    "TEAM_KEY_HEADERS": "Header names a team key is taken from.",
    "TRUSTED_PROXY_COUNT": "How many proxies in front are believed about the caller's address.",
    "USER_EXPORT_DAYS": "How long the archive of everything about a user can be downloaded before it is removed.",
    "WEBHOOK_PUMPS": "How many webhook pumps may run at once, over all workers; each takes a slot of a worker.",
    "WEBHOOK_RETENTION_DAYS": "How long events, deliveries and attempts of webhooks are kept; what is owed stays longer.",
    "WEB_THREADS": "Requests a web process serves at once, as its server is told; half of them may wait for somebody else.",
    "WORKER_CONCURRENCY": "Processes of the worker. One is kept free of any single provider's pulls, if there are two.",
}


#: Read by `make run` alone, by the connectors, or by the simulator; not by `settings.py`.
RUN_SETTINGS: Mapping[str, tuple[str, str]] = {
    "HEALTHSVC_POSTGRES_ACCOUNT": (
        "",
        "Account that the embedded PostgreSQL runs as where `make run` is started by root.",
    ),
    "HOST": ("127.0.0.1", "Address the servers listen on."),
    "MANAGEMENT_PORT": ("8001", "Port of the management address."),
    "PORT": ("8000", "Port of the team API, link pages, admin and documentation."),
    "PROVIDER_<SLUG>_CLIENT_ID": ("", "The operator's OAuth application at a provider, for production keys."),
    "PROVIDER_<SLUG>_CLIENT_SECRET": ("", "Its secret, or `…_FILE`."),
    "SIMULATOR_CALLBACK_ORIGINS": (
        "",
        "Origins that the simulator sends notices to, comma separated; left out: `BASE_URL`.",
    ),
    "SIMULATOR_CONTROLS": ("false", "Whether the simulator has its `/_control`; `make run` switches it on."),
    "SIMULATOR_CONTROL_SECRET": ("", "What a request to `/_control` must show; `make run` makes one at each start."),
    "SIMULATOR_DATABASE": ("", "File in which the simulator keeps its tokens; `make run` sets it."),
    "SIMULATOR_PORT": ("8002", "Port of the provider simulator."),
    "WEBHOOK_RECEIVER_PORT": ("8003", "Port of the webhook receiver."),
}


def errors_page() -> str:
    """`docs/errors.md`."""
    rows = "".join(
        f"| `{code.code}` | {code.status} | {code.meaning} |\n" for code in sorted(ErrorCode, key=_by_status)
    )
    return (
        f"{_NOTICE}# Errors\n\n"
        "Every refusal has one body:\n\n"
        '```json\n{"detail": "…", "code": "…", "request_id": "…"}\n```\n\n'
        "`detail` is a sentence. For 422 it is a list of `{loc, msg, type}`: `loc` is the path to what is wrong\n"
        '(`["body", "client_user_id"]`), `msg` says what would be right, `type` is stable. A taken\n'
        "`client_user_id` answers an object with the living user's id. Values that may be health data are not repeated.\n"
        "`request_id` is also in the `X-Request-Id` header of every answer; quote it to the operator.\n\n"
        f"| code | status | meaning |\n|---|---|---|\n{rows}"
    )


def _by_status(code: ErrorCode) -> tuple[int, str]:
    return code.status, code.code


def settings_page() -> str:
    """`docs/settings.md`."""
    import_module(settings.SETTINGS_MODULE)
    rows = []
    for item in env.declared():
        if item.name not in SETTING_MEANINGS:
            continue
        default = "(secret)" if item.secret else f"`{_relative(item.default)}`" if item.default else ""
        bounds = (
            f" {item.minimum} to {item.maximum if item.maximum is not None else '…'}"
            if item.minimum is not None
            else ""
        )
        rows.append(f"| `{item.name}` | {item.kind}{bounds} | {default} | {SETTING_MEANINGS[item.name]} |\n")
    return (
        f"{_NOTICE}# Settings\n\n"
        "All settings are environment variables, read strictly: a value that is not understood stops the process.\n"
        "Any secret may be given as `NAME_FILE`, the path of a file that holds it.\n\n"
        f"| variable | kind | default | meaning |\n|---|---|---|---|\n{''.join(rows)}\n"
        "Read by `make run`, the connectors or the simulator:\n\n"
        "| variable | default | meaning |\n|---|---|---|\n"
        + "".join(
            f"| `{name}` | {default and f'`{default}`'} | {text} |\n" for name, (default, text) in RUN_SETTINGS.items()
        )
    )


def _relative(text: str) -> str:
    """A default under the checkout, as everyone has it."""
    return text.replace(str(settings.DATA_DIR), "./var").replace(str(settings.BASE_DIR), ".")


_RESOURCES_INTRO = """# Resources

What is kept of a person: each is one record in `aggregation/catalogue/`, from which its addresses, events, checks and
descriptions are made. A sample or summary outside its range, of another unit, or with another field is refused by name.

- **unit**: as it is stored and answered; **accepted** units are converted exactly on the way in.
- **adds up**: what makes one number of several samples.
- **range**: inclusive, in the unit. **block**: the stretch of time that is stored together.

## Timeseries

`GET /v2/timeseries/{user_id}/<path>/grouped`, and ungrouped without `/grouped`.
"""


def resources_page() -> str:
    """`docs/resources.md`."""
    series = "".join(_series_section(spec) for spec in sorted(SERIES, key=lambda spec: spec.slug))
    summaries = "".join(_summary_section(spec) for spec in sorted(SUMMARIES, key=lambda spec: spec.slug))
    streams = "".join(_stream_section(spec) for spec in STREAMS)
    return (
        f"{_NOTICE}{_RESOURCES_INTRO}{series}\n## Summaries\n\n`GET /v2/summary/<path>/{{user_id}}`.\n{summaries}"
        f"\n## Streams\n\n`GET /v2/timeseries/workouts/{{workout_id}}/stream`.\n{streams}{_sports_section()}"
    )


def _sports_section() -> str:
    rows = "".join(f"| {sport.id} | `{sport.slug}` | {sport.name} |\n" for sport in SPORTS)
    return f"\n## Sports\n\nIds and slugs are fixed for good.\n\n| id | slug | name |\n|---|---|---|\n{rows}"


def _series_section(spec: SeriesSpec) -> str:
    by_type = [f"{unit} (type {kind})" for kind, units in spec.accepted_by_type.items() for unit in units]
    accepted = [f"`{unit}`" for unit in (*spec.accepted, *by_type)]
    facts = [
        f"path `{spec.path}`" + "".join(f", `{spec.path}/{sub_path}`" for sub_path in spec.sub_paths),
        spec.kind.value.replace("_", " "),
        f"unit `{spec.unit}`"
        + "".join(f", `{unit}` of type {kind}" for kind, unit in spec.units_by_type.items())
        + (f", accepted {', '.join(accepted)}" if accepted else ""),
        f"adds up by {spec.adds_up.value}",
        *([f"range {_number(spec.lowest)} to {_number(spec.highest)}"] if spec.has_value else []),
        f"block {_span(spec.bucket_seconds)}",
    ]
    rows = [
        *([f"- `type`{'' if spec.type_required else ' (optional)'}: {', '.join(spec.types)}\n"] if spec.types else []),
        *(_sample_field_row(field) for field in spec.fields),
    ]
    older = " Worked out of sleep cycles: it can be read and not sent, and has no events." if spec.is_older else ""
    return f"\n### `{spec.slug}`\n\n{spec.meaning}{older} {spec.definition}\n\n- {'; '.join(facts)}\n{''.join(rows)}"


def _sample_field_row(field: SampleField) -> str:
    name = "value" if field.is_text_value else field.name
    bounds = f" ({_number(field.lowest)} to {_number(field.highest)})" if field.kind is SampleFieldKind.NUMBER else ""
    choices = f" {', '.join(field.choices)}" if field.choices else ""
    return f"- `{name}`{'' if field.required else ' (optional)'}: {field.meaning}{bounds}{choices}\n"


def _summary_section(spec: SummarySpec) -> str:
    raw = "; only its raw form can be read" if spec.raw_only else "; also `/raw`" if spec.has_raw else ""
    rows = "".join(_field_rows(spec.fields, ""))
    named = ""
    if spec.parent is not None:
        ours, theirs = spec.parent.id_field, spec.parent.external_id_field
        named = f"\n- sent with `{ours}`, or with the sender's own name for the {spec.parent.resource} as `{theirs}`"
    return (
        f"\n### `{spec.slug}`\n\n{spec.meaning} {spec.definition}\n\n- path `{spec.path}`{raw}{named}\n\n"
        f"| field | kind | range or choices | meaning |\n|---|---|---|---|\n{rows}"
    )


def _field_rows(fields: Sequence[FieldSpec], owner: str) -> Iterator[str]:
    for field in fields:
        numeric = field.kind in (FieldKind.NUMBER, FieldKind.WHOLE, FieldKind.WHOLES, FieldKind.NUMBERS_BY_NAME)
        bounds = [f"{_number(field.lowest)} to {_number(field.highest)}"] if numeric else []
        limits = "; ".join([*bounds, *([", ".join(field.choices)] if field.choices else [])])
        kind = f"{field.kind.value.replace('_', ' ')}{', required' if field.required else ''}"
        yield f"| `{owner}{field.name}` | {kind} | {limits} | {field.meaning} |\n"
        yield from _field_rows(field.members, f"{owner}{field.name}.")


def _stream_section(spec: StreamSpec) -> str:
    rows = "".join(_sample_field_row(channel) for channel in spec.channels)
    return f"\n### `{spec.slug}`\n\n{spec.meaning} {spec.definition}\n\n- block {_span(spec.bucket_seconds)}\n{rows}"


def _number(value: float) -> str:
    return f"{value:,.10g}"


def _span(seconds: int) -> str:
    return f"{seconds // 86_400} d" if seconds >= 86_400 else f"{seconds // 3_600} h"


_QUERY_INTRO = """# The query language

`POST /aggregate/v1/user/{user_id}/query` answers figures over a person's samples and summaries.

```json
{
  "timeframe": {"type": "relative", "anchor": "2026-11-21", "past": {"unit": "day", "value": 7}},
  "queries": [
    {
      "select": [
        {"func": "mean", "arg": {"heartrate": "value"}},
        {"func": "max", "arg": {"heartrate": "value"}}
      ],
      "group_by": [{"arg": {"index": "heartrate"}, "date_trunc": {"unit": "day", "value": 1}}],
      "where": "source_type = 'ring' AND value > 40"
    }
  ],
  "config": {"provider_priority_overrides": ["oura"]}
}
```

```json
{"results": [{"table": {"index": ["2026-11-15T00:00:00", "…"], "mean": [61.2, "…"], "max": [143.0, "…"]}}]}
```

- **timeframe**: the `past` period that ends with the whole day `anchor`, on the person's own clock. Units: minute, hour,
  day, week, month, year.
- **select**: a column `{"sleep": "efficiency"}` or `{"heartrate": "value"}`, the time `{"index": "sleep"}`, a source column
  `{"source": "source_provider"}`, a function `{"func": "mean", "arg": column}` (mean, min, max, sum, count, median, stddev,
  oldest, newest), or with `group_by` a key `{"group_key": 0}` or `{"group_key": "*"}`.
- **group_by**: one `{"date_trunc": {"unit": "hour", "value": 6}, "arg": {"index": "heartrate"}}` (minute below 60, hour
  below 24, day below 31, week below 13, month 1, 2, 3, 4 or 6), any `{"date_part": "weekday", "arg": {"index": …}}`
  (minute, hour, day, week, month, year, weekday, week_of_year, day_of_year), and columns. Groups without rows are absent.
- **where**: bare column names, `> >= < <= = !=`, AND, OR, NOT, parentheses, numbers, 'text', TRUE, FALSE.
- **Sources**: in each group only the best source counts, by source type, then by provider; grouping by both
  `source_provider` and `source_type` switches that off. `provider_priority_overrides` puts providers first.
- **Column names**: `index` for the bucket's start, the function's name where that is enough, `func.column` where two would
  be alike, `group_key.N` for selected keys.
- **Output**: JSON, or with `Accept: application/vnd.service.tar+gzip+parquet` a gzipped tar of `0.parquet`, `1.parquet`, …
- Too much to read or answer is 422 `query_budget_exceeded`. Messages carry the path into the query.

An empty table means that there are no data in the timeframe.

## Merging sources

`"config": {"source_mode": "merge"}` fills one source's gaps with the next: the steps of the phone count where the watch was
off. It is for timeseries in a query with a `date_trunc`; summaries stay with their best source. Columns `lineage.<provider>.<type>` at the end of the table say which share each source gave.

## Values that are worked out

`{"value_macro": "sleep_score"}` stands where a column may stand. Macros have versions; `automatic` is the newest. The table
`derived_readiness` needs a long sleep on seven nights of the 21 days before. `reliability` has one row a provider, source
type and resource, dated with the window's last day.

## Lists

A list column is read through a subquery, here over the days of a menstrual cycle:
`{"select": {"func": "count", "arg": null}, "from": {"unnest": {"menstrual_cycle": "menstrual_flow"}}, "where": "flow != 'none'"}`.
An element's field is `{"field_for": "menstrual_cycle", "menstrual_flow": "flow"}`, the element of a list of texts
`{"element": true}`. In a grouped query it stands inside a function.

## Empty buckets

`"align": {"carry": {"mode": "carry_forward", "max_age": {"unit": "day", "value": 3}}}` beside `select` makes the buckets in
which nothing happened and fills them: `carry_forward`, `carry_backward`, or `carry_nearest` with a `span`. It needs a
`date_trunc` and every group key selected.

`manage.py explain_query FILE` prints how a query was understood, and with `--user` what it reads.

## Columns
"""


def query_page() -> str:
    """`docs/query.md`."""
    rows = [_QUERY_INTRO, "\n| name | columns |\n|---|---|\n"]
    for name in SCHEMA.table_names():
        table = SCHEMA.table(name)
        if table is not None:
            rows.append(f"| `{name}` | {_columns(table.columns)} |\n")
            rows += [f"| `{name}.{one}` (elements) | {_columns(fields)} |\n" for one, fields in table.lists.items()]
    for name in SCHEMA.series_names():
        series = SCHEMA.series(name)
        rows.append(f"| `{name}` (timeseries) | {_columns(series.fields if series else {})} |\n")
    for name in SCHEMA.macro_names():
        macro = SCHEMA.macro(name)
        if macro is not None:
            versions = ", ".join(macro.versions)
            rows.append(f"| `{name}` (value macro of {macro.table}) | {macro.type}; versions {versions} |\n")
    return f"{_NOTICE}{''.join(rows)}"


def _columns(columns: Mapping[str, ColumnType]) -> str:
    return ", ".join(f"`{name}` {kind}" for name, kind in columns.items())


PAGES: Mapping[str, Callable[[], str]] = {
    "docs/errors.md": errors_page,
    "docs/settings.md": settings_page,
    "docs/events.md": lambda: events_page(_NOTICE),
    "docs/resources.md": resources_page,
    "docs/query.md": query_page,
    "docs/providers.md": lambda: providers_page(_NOTICE),
}


def pages_that_differ() -> list[str]:
    """Pages whose kept text is not what the code says."""
    return [name for name, make in PAGES.items() if not _path(name).exists() or _path(name).read_text() != make()]


def pages_write() -> None:
    """Write every page."""
    for name, make in PAGES.items():
        _path(name).parent.mkdir(parents=True, exist_ok=True)
        _path(name).write_text(make())


def _path(name: str) -> Path:
    return Path(settings.BASE_DIR) / name
