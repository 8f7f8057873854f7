"""Structured logs without health data: what is logged is chosen, never copied from a request.

A log line holds names, ids, counts, durations and states. Exception messages are left out, because database and
parser messages quote values; their type and the places in the code are kept.
"""

import traceback
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import structlog

PROJECT_ROOT = Path(__file__).resolve().parents[2]
#: Frames of a traceback that are kept.
_FRAMES_KEPT = 12


def exception_places(error: BaseException) -> list[str]:
    """The places in the code an exception passed, innermost last, as `file:line function`."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES_KEPT:]
    return [f"{_short(frame.filename)}:{frame.lineno} {frame.name}" for frame in frames]


def _short(filename: str) -> str:
    path = Path(filename)
    if path.is_relative_to(PROJECT_ROOT) and ".venv" not in path.parts:
        return str(path.relative_to(PROJECT_ROOT))
    return "/".join(path.parts[-3:])


def _without_messages(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    error = event.pop("exc_info", None)
    if isinstance(error, tuple):
        error = error[1]
    if isinstance(error, BaseException):
        event["error"] = type(error).__name__
        event["at"] = exception_places(error)
    return event


def logging_config(*, level: str, as_json: bool) -> dict[str, Any]:
    """Django's LOGGING setting; also points structlog's own loggers at it."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _without_messages,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    renderer: Any = (
        structlog.processors.JSONRenderer() if as_json else structlog.dev.ConsoleRenderer(colors=False, pad_event_to=0)
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "service": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": shared,
                "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
            },
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "service"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # SQL with its parameters must never be logged.
            "django.db.backends": {"level": "INFO", "propagate": True},
            "django.server": {"handlers": [], "propagate": False, "level": "ERROR"},
            # Our own access line says what this one says, without the path's values.
            "django.request": {"level": "CRITICAL", "propagate": True},
            # A line for every tick and every message drowns what matters.
            # It quotes paths and host names.
            "django.security": {"level": "CRITICAL", "propagate": True},
            "celery.beat": {"level": "WARNING", "propagate": True},
            "celery.worker.strategy": {"level": "WARNING", "propagate": True},
            # Its lines quote exceptions and arguments; kernel.jobs.ServiceTask says the same without them.
            "celery.app.trace": {"level": "CRITICAL", "propagate": False},
        },
    }
