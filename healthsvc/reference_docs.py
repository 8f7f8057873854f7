"""The generated pages of `docs/`: error codes, settings and events, written from the code they describe."""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

import orjson
from django.conf import settings

from aggregation.query.schema import ColumnType
from aggregation.query_reader import SCHEMA
from healthsvc import env
from healthsvc.kernel.errors import ErrorCode
from webhooks.registry import event_types

_NOTICE = "<!-- Written by `manage.py docs_generate`; change the code, not this page. -->\n"

#: What each environment variable is for. A variable without a line here fails the tests.
SETTING_MEANINGS: Mapping[str, str] = {
    "ALLOWED_HOSTS": "Host names the service answers to, comma separated.",
    "BASE_URL": "The address people and clients reach the team API and the link pages at.",
    "DATABASE_CONNECTION_SECONDS": "How long a database connection is kept open between requests.",
    "DATABASE_OWNER_URL": "PostgreSQL as the role that owns the tables; used by `migrate` only.",
    "DATABASE_URL": "PostgreSQL as the service's own role, which owns nothing and obeys row-level security.",
    "DEBUG": "Django's debug mode; refused outside the embedded default.",
    "EXPORT_MAXIMUM_BYTES": "The largest Apple Health export that is taken, as it is on the wire.",
    "FIELD_ENCRYPTION_KEYS": "`id:base64 of 32 bytes`, comma separated, the current key first; old keys still open.",
    "HEALTHSVC_BROKER_DIR": "Folder of the filesystem broker, used where REDIS_URL is empty.",
    "HEALTHSVC_DATA_DIR": "Where the embedded servers, stored files and secrets of the embedded default live.",
    "HEALTHSVC_EMBEDDED": "Set by `make run`: servers and secrets are this machine's own, some checks are softer.",
    "HEALTHSVC_LOOPBACK_ORIGINS": "Exact origins on this machine that outbound requests may reach; embedded only.",
    "KEY_PEPPER": "Keys the hashes of API keys and tokens. Losing it makes every key unknown.",
    "LINK_CODE_SCHEME": "URL scheme of the exchange URL of link codes.",
    "LINK_TOKEN_HEADERS": "Header names a link token is taken from.",
    "LOG_JSON": "Log lines as JSON.",
    "LOG_LEVEL": "Least severe level that is logged.",
    "MANAGEMENT_KEY_HEADERS": "Header names a management key is taken from.",
    "MANAGEMENT_URL": "The address of the management API.",
    "OUTBOUND_ALLOWED_NETWORKS": "Private networks (CIDR) that webhooks may reach; none by default.",
    "PARQUET_MEDIA_TYPE": "Media type of the aggregation query's Parquet archive.",
    "QUALIFIED_COLUMN_NAMES": "Name aggregation columns `func.column` always.",
    "RATE_LIMIT_REQUESTS": "Requests a key may make in a window; 0 for no limit.",
    "RATE_LIMIT_WINDOW_SECONDS": "Length of that window.",
    "REDIS_URL": "`redis://…`, `rediss://…` or `unix:///path?db=0`. Empty: filesystem broker, no rate limits.",
    "SECRET_KEY": "Signs sessions and forms; at least 43 random characters.",
    "SIMULATOR_URL": "Where the provider simulator answers, for sandbox keys.",
    "TEAM_KEY_HEADERS": "Header names a team key is taken from.",
    "TRUSTED_PROXY_COUNT": "How many proxies in front are believed about the caller's address.",
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
    "SIMULATOR_DATABASE": ("", "File in which the simulator keeps its tokens; `make run` sets it."),
    "SIMULATOR_PORT": ("8002", "Port of the provider simulator."),
    "WEBHOOK_RECEIVER_PORT": ("8003", "Port of the webhook receiver."),
    "WORKER_CONCURRENCY": ("2", "Processes of the worker."),
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


def events_page() -> str:
    """`docs/events.md`."""
    intro = (
        f"{_NOTICE}# Events\n\nEach delivery has the body `{{event_type, data, team_id, user_id, client_user_id}}`;\n"
        "`user_id` and `client_user_id` are null where an event is about no user. How deliveries are signed and\n"
        "retried: [webhooks.md](webhooks.md).\n"
    )
    parts = [intro]
    for event in event_types().values():
        sample = orjson.dumps(event.sample, option=orjson.OPT_INDENT_2).decode()
        parts.append(f"\n## `{event.name}`\n\n{event.meaning}\n\n```json\n{sample}\n```\n")
    return "".join(parts)


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

An empty table means that there are no data in the timeframe. Value macros, subqueries and `align` are refused for now.

## Columns
"""


def query_page() -> str:
    """`docs/query.md`."""
    rows = [_QUERY_INTRO, "\n| name | columns |\n|---|---|\n"]
    for name in SCHEMA.table_names():
        table = SCHEMA.table(name)
        rows.append(f"| `{name}` | {_columns(table.columns if table else {})} |\n")
    for name in SCHEMA.series_names():
        series = SCHEMA.series(name)
        rows.append(f"| `{name}` (timeseries) | {_columns(series.fields if series else {})} |\n")
    return f"{_NOTICE}{''.join(rows)}"


def _columns(columns: Mapping[str, ColumnType]) -> str:
    return ", ".join(f"`{name}` {kind}" for name, kind in columns.items())


PAGES: Mapping[str, Callable[[], str]] = {
    "docs/errors.md": errors_page,
    "docs/settings.md": settings_page,
    "docs/events.md": events_page,
    "docs/query.md": query_page,
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
