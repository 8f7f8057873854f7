"""What an answer about another's objects must be, and must not hold or do."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from tests.clients import ApiClient
from tests.documents import MANAGEMENT_URLCONF, TEAM_URLCONF
from tests.invariants.closed_asking import Answer, Rows, ask, undone, written
from tests.invariants.closed_callers import Caller, Question, opens, questions
from tests.invariants.closed_cast import Cast, Estate
from tests.invariants.closed_refused import Credential
from tests.invariants.closed_slots import Slot, slots_of
from tests.invariants.test_routes import Route

_LATER: Final = "what came of each user is told by the operation, once it was worked on"
_BINDING: Final = "a team in a list of the body, said to be none of the organisation's"

#: What was refused may stand in the caller's own trail.
TRAILS: Final = frozenset({"management_access_record", "management_access_named", "management_organisation_record"})
#: Slots in which the caller's own object makes no difference to the answer either, each with its reason.
NEVER_TOLD: Final[dict[str, str]] = {
    "POST /v2/link/bulk_import connections.user_id": _LATER,
    "POST /v2/link/bulk_trigger_historical_pull user_ids": _LATER,
}
#: Slots where a missing object is answered with something else than 404, each with its reason.
MISSING: Final[dict[str, tuple[int, str]]] = {
    "GET /v2/user/<user_id>/export/<export_id>/download token": (401, "a credential, for the one path it was made for"),
    "POST /v2/user/<user_id>/insurance payor_code": (422, "a value of a list, like a diagnosis"),
    "GET /v2/team/users/search query_id": (200, "a search that finds nobody"),
    "POST /v2/link/bulk_export user_ids": (200, "an export of nothing"),
    "POST /v2/link/bulk_pause user_ids": (200, "none is paused"),
    "DELETE /v1/org/<org_id>/team_api_keys/<env>/<region> api_key_id": (200, "listed as not found"),
    "POST /v1/org/<org_id>/management_key team_role_bindings.team_id": (422, _BINDING),
    "PATCH /v1/org/<org_id>/management_key/<key_id> team_role_bindings.team_id": (422, _BINDING),
    "PATCH /v1/org/<org_id>/member/<member_id> team_role_bindings.team_id": (422, _BINDING),
    "POST /v1/org/<org_id>/invite team_role_bindings.team_id": (422, _BINDING),
    "POST /v2/link/bulk_import connections.user_id": (202, _LATER),
    "POST /v2/link/bulk_trigger_historical_pull user_ids": (202, _LATER),
}


@dataclass(frozen=True, slots=True)
class Stage:
    """Everybody, their callers, and how their rows were."""

    cast: Cast
    callers: list[Caller]
    rows: Rows
    refused: list[Credential]
    #: Without a credential, by address; made once, for that is slow.
    bare: Mapping[str, ApiClient] = field(
        default_factory=lambda: {TEAM_URLCONF: ApiClient(), MANAGEMENT_URLCONF: ApiClient(at="management")}
    )


def problems_of(stage: Stage, route: Route) -> list[str]:
    """What is wrong with a route."""
    return [
        f"{caller.name}: {problem}"
        for caller in stage.callers
        if opens(route, caller.door)
        for problem in _problems(stage, caller, route)
    ]


def _problems(stage: Stage, caller: Caller, route: Route) -> Iterator[str]:
    asked = list(questions(caller, route))
    known: dict[object, Answer] = {}
    for question in asked:
        foreign, problems = watched(stage, caller, route, question.foreign)
        yield from (f"{question}: {problem}" for problem in problems)
        # A cursor is missed beside the one that is there; any other missing id is as good as the next.
        key = (question.about, question.of_whom if any(slot.is_cursor for slot in question.about) else "")
        if key not in known:
            known[key], problems = watched(stage, caller, route, question.missing)
            yield from (f"missing {question}: {problem}" for problem in problems)
            if caller.is_told:
                yield from _told(caller, route, question, known[key])
        if foreign.compared != known[key].compared:
            yield f"{question}: {foreign}, but for a missing one {known[key]}"
    if not asked:
        answer, problems = watched(stage, caller, route, own_slots(route, caller.own))
        yield from problems
        if answer.status == 422:
            yield f"the request is malformed: {answer}"


def own_slots(route: Route, own: Estate) -> dict[Slot, str]:
    """What a request of one's own must name."""
    return {slot: {**own.held, **own.ids}[slot.kind] for slot in slots_of(route) if slot.required}


def watched(stage: Stage, caller: Caller, route: Route, named: Mapping[Slot, str]) -> tuple[Answer, list[str]]:
    """The answer to a request, and what it holds or does of others."""
    before = written()
    with undone():
        answer = ask(caller.client, route, named)
        tables = {table for table, count in written().items() if count != before.get(table, 0)}
        problems = [f"changed {row}" for row in stage.rows.changed(tables, but=caller.own)]
    if answer.status >= 400 and tables - TRAILS:
        problems.append(f"refused with {answer.status}, and wrote {sorted(tables - TRAILS)}")
    if answer.status >= 500:
        problems.append(f"answered {answer}")
    given = " ".join(named.values())
    own = {*caller.own.ids.values(), given}
    for other in caller.strangers(stage.cast, route):
        secrets = {other.mark, *other.ids.values(), *other.held.values()} - own
        shown = [text for text in secrets if text in answer.whole and text not in given]
        problems += [f"shows {text} of {other.name}" for text in sorted(shown)]
    return answer, problems


def _told(caller: Caller, route: Route, question: Question, missing: Answer) -> Iterator[str]:
    """Whether the request is one that finds what is there: otherwise every answer would be alike for no reason."""
    about = f"{route} {question.about[0].name}"
    if missing.status != MISSING.get(about, (404, ""))[0] and not (_is_filter(question) and missing.status == 200):
        yield f"{question}: missing is {missing}"
    if _is_place(question) or about in NEVER_TOLD:
        return
    with undone():
        own = ask(caller.client, route, question.own)
    if own.compared == missing.compared:
        yield f"{question}: the caller's own is not told from a missing one: {own}"
    if own.status in (401, 404, 422):
        yield f"{question}: the caller's own is refused: {own}"


def _is_filter(question: Question) -> bool:
    return all(slot.place == "query" and not slot.required for slot in question.about)


def _is_place(question: Question) -> bool:
    return all(slot.is_cursor for slot in question.about)


def unlike_no_key(stage: Stage, route: Route) -> list[str]:
    """Credentials that must not open a route and are answered otherwise than none at all."""
    client = stage.bare[route.urlconf]
    named = own_slots(route, stage.cast.ours)
    client.headers = {}
    with undone():
        nothing = ask(client, route, named)
    problems = [] if nothing.status == 401 else [f"open to nobody's key: {nothing}"]
    for credential in stage.refused:
        if not credential.is_refused_by(route):
            continue
        client.headers, before = dict(credential.headers), written()
        with undone():
            answer = ask(client, route, named)
            wrote = {table for table, count in written().items() if count != before.get(table, 0)}
        if answer.compared != nothing.compared:
            problems.append(f"{credential.name}: {answer}, but without any {nothing}")
        if wrote - credential.notes - TRAILS:
            problems.append(f"{credential.name}: wrote {sorted(wrote)}")
    return problems
