"""The custom headers of an endpoint: values that are secret are kept or replaced, never shown."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.http import HttpResponse, QueryDict

from healthsvc.kernel.errors import ErrorCode, ServiceError
from webhooks import selectors, services
from webhooks.constants import HEADERS_MAXIMUM
from webhooks.models import Endpoint
from webhooks.portal.frame import PortalVisit, go, page, portal_page, refusal_words

#: Empty lines for new headers.
_NEW_LINES: Final = 2


@dataclass(frozen=True, slots=True)
class HeaderLine:
    """One line of the form. A `kept` one exists already; the value of a secret one is empty for leaving it alone."""

    name: str = ""
    value: str = ""
    sensitive: bool = False
    kept: bool = False
    removed: bool = False
    error: str = ""


@portal_page("GET", "POST")
def headers(visit: PortalVisit, endpoint_id: UUID) -> HttpResponse:
    """`/portal/endpoint/{id}/headers`."""
    found = selectors.endpoint_get(visit.team, endpoint_id)
    lines = _lines_of(found)
    if not visit.is_form:
        return _page(visit, found, lines)
    typed = _lines_read(visit.request.POST, {line.name: line for line in lines})
    before = {line.name: line.value for line in lines}
    twice = _twice(typed)
    if twice:
        return _page(visit, found, _marked(typed, dict.fromkeys(twice, "This name is given twice.")), status=422)
    try:
        services.endpoint_headers_patch(
            team=visit.team,
            endpoint_id=endpoint_id,
            changes=_changes(typed, before),
            sensitive=[line.name for line in typed if line.name and line.sensitive and not line.removed],
        )
    except ServiceError as error:
        if error.code is not ErrorCode.VALIDATION_FAILED:
            raise
        by_name = _errors(error)
        others = "" if by_name else refusal_words(error)
        return _page(visit, found, _marked(typed, by_name), problem=others, status=422)
    return go("portal_endpoint", told="headers", endpoint_id=endpoint_id)


def _page(
    visit: PortalVisit, endpoint: Endpoint, lines: list[HeaderLine], *, problem: str = "", status: int = 200
) -> HttpResponse:
    empty = [HeaderLine()] * max(0, min(_NEW_LINES, HEADERS_MAXIMUM - len(lines)))
    context = {
        "endpoint": endpoint,
        "lines": [*lines, *empty],
        "problem": problem,
        "wrong": bool(problem) or any(line.error for line in lines),
    }
    return page(visit, "webhooks/headers.html", context, status=status)


def _lines_of(endpoint: Endpoint) -> list[HeaderLine]:
    shown = selectors.headers_shown(endpoint)
    plain = [HeaderLine(name, value, kept=True) for name, value in shown.headers.items()]
    return sorted(
        [*plain, *(HeaderLine(name, sensitive=True, kept=True) for name in shown.sensitive)],
        key=lambda line: line.name.lower(),
    )


def _lines_read(sent: QueryDict, before: Mapping[str, HeaderLine]) -> list[HeaderLine]:
    """The lines as they were sent; those left empty are none. Headers that came since the page was made stay."""
    count = min(len(sent.getlist("name")), HEADERS_MAXIMUM + _NEW_LINES)
    names, values = sent.getlist("name"), sent.getlist("value")
    lines: list[HeaderLine] = []
    for index in range(count):
        name = names[index].strip()
        value = values[index].strip() if index < len(values) else ""
        if not name and not value:
            continue
        kept = before.get(name)
        sensitive = str(index) in sent.getlist("sensitive") or bool(kept and kept.sensitive)
        removed = kept is not None and str(index) in sent.getlist("remove")
        lines.append(HeaderLine(name, value, sensitive, kept is not None, removed))
    return lines


def _changes(lines: list[HeaderLine], before: Mapping[str, str]) -> dict[str, str | None]:
    """What is other than before: None removes; the empty value of a secret one leaves it alone."""
    changes: dict[str, str | None] = {}
    for line in lines:
        if line.removed:
            changes[line.name] = None
        elif not (line.kept and line.value == before.get(line.name, "")):
            changes[line.name] = line.value
    return changes


def _twice(lines: list[HeaderLine]) -> set[str]:
    names = [line.name.lower() for line in lines]
    return {line.name for line in lines if line.name and names.count(line.name.lower()) > 1}


def _errors(error: ServiceError) -> dict[str, str]:
    """Refusals by the header they are about."""
    found: dict[str, str] = {}
    for item in error.detail if isinstance(error.detail, list) else ():
        loc = item.get("loc") if isinstance(item, Mapping) else None
        if isinstance(item, Mapping) and isinstance(loc, list) and len(loc) > 2:
            found.setdefault(str(loc[2]), str(item.get("msg", "")))
    return found


def _marked(lines: list[HeaderLine], errors: Mapping[str, str]) -> list[HeaderLine]:
    """The lines with their mistakes; a secret that was typed is not shown again."""
    return [
        HeaderLine(
            line.name,
            "" if line.sensitive else line.value,
            line.sensitive,
            line.kept,
            line.removed,
            errors.get(line.name, ""),
        )
        for line in lines
    ]
