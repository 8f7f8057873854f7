"""Every route answers of what is another's exactly as of what is not there, and changes nothing by it."""

from collections.abc import Iterator
from uuid import UUID

import pytest
import time_machine
from django.db import transaction
from django.shortcuts import get_object_or_404
from pytest_django import DjangoDbBlocker
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel import clock
from healthsvc.kernel.errors import ErrorCode, ServiceError
from healthsvc.kernel.scope import SystemScope, system_scope
from management.models import TeamKey
from tests.invariants import closed_slots
from tests.invariants.closed_asking import Rows
from tests.invariants.closed_bodies import BODIES, PLACES_HERE, QUERIES_HERE, RAW_BODIES
from tests.invariants.closed_callers import callers_of, doors_of
from tests.invariants.closed_cast import cast_make
from tests.invariants.closed_refused import refused_credentials
from tests.invariants.closed_rules import MISSING, NEVER_TOLD, Stage, problems_of, unlike_no_key
from tests.invariants.closed_slots import KINDS_HERE, PLAIN, UnknownSlotError, slots_of
from tests.invariants.test_routes import PUBLIC_ROUTES, ROUTES, Route
from users.api import UserViewSet
from users.models import User
from users.selectors import user_get
from users.serializers import user_json

#: Addresses where the thing shown is the credential, or that anybody may ask.
CLOSED = [route for route in ROUTES if route.route not in PUBLIC_ROUTES]
#: Credentials that nobody of the cast calls with, each with its reason.
NO_CALLER = {"SignedAddressAuthentication": "stands in the query of one path, and is asked about there as a slot"}


@pytest.fixture(scope="module")
def stage(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Stage]:
    """Everybody, made once; each request is taken back."""
    # The clock stands, so that answers differ by no time, and the use of a key is noted once.
    with django_db_blocker.unblock(), time_machine.travel(clock.now(), tick=False) as hand, transaction.atomic():
        cast = cast_make()
        hand.shift(1)
        yield Stage(cast, callers_of(cast), Rows(cast), refused_credentials(cast))
        transaction.set_rollback(True)


@pytest.mark.parametrize("route", ROUTES, ids=str)
def test_what_is_anothers_is_as_what_is_missing(stage: Stage, route: Route) -> None:
    problems = problems_of(stage, route)
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("route", CLOSED, ids=str)
def test_what_opens_nothing_is_as_no_key_at_all(stage: Stage, route: Route) -> None:
    problems = unlike_no_key(stage, route)
    assert not problems, "\n".join(problems)


def test_whoever_may_call_a_route_is_among_the_callers(stage: Stage) -> None:
    taken = {door for route in CLOSED for door in doors_of(route)}
    held = tuple(caller.door for caller in stage.callers)
    assert {door.__name__ for door in taken if not issubclass(door, held)} == set(NO_CALLER)


def test_what_is_said_of_single_routes_is_of_routes_that_there_are() -> None:
    slots = {f"{route} {slot.name}" for route in ROUTES for slot in slots_of(route)}
    assert {*MISSING, *NEVER_TOLD, *KINDS_HERE} - slots == set()
    routes = {str(route) for route in ROUTES}
    assert {*BODIES, *RAW_BODIES, *PLACES_HERE, *QUERIES_HERE} - routes == set()
    assert {" ".join(name.split(" ")[:2]) for name in PLAIN if " " in name} - routes == set()


def test_a_name_that_nobody_explained_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    route = next(item for item in ROUTES if str(item) == "GET /v2/user/<user_id>")
    slots_of.cache_clear()
    monkeypatch.delitem(closed_slots.KINDS, "user_id")
    with pytest.raises(UnknownSlotError, match=r"GET /v2/user/<user_id> user_id: "):
        slots_of(route)
    slots_of.cache_clear()


def _shows(view: UserViewSet, request: Request, user_id: UUID) -> Response:
    with system_scope(SystemScope.PURGE):
        return Response(user_json(get_object_or_404(User, pk=user_id), []))


def _tells(view: UserViewSet, request: Request, user_id: UUID) -> Response:
    if not User.objects.filter(pk=user_id).exists():
        with system_scope(SystemScope.PURGE):
            is_anothers = User.objects.filter(pk=user_id).exists()
        raise ServiceError(ErrorCode.NOT_FOUND, headers={"Retry-After": "1"} if is_anothers else {})
    return Response(user_json(User.objects.get(pk=user_id), []))


def _writes(view: UserViewSet, request: Request, user_id: UUID) -> Response:
    with system_scope(SystemScope.PURGE):
        User.objects.filter(pk=user_id).update(fallback_time_zone="UTC")
    return _tells_nothing(view, user_id)


def _writes_its_own(view: UserViewSet, request: Request, user_id: UUID) -> Response:
    User.objects.filter(client_user_id__endswith="-b").update(fallback_time_zone="UTC")
    return _tells_nothing(view, user_id)


def _tells_nothing(view: UserViewSet, user_id: UUID) -> Response:
    return Response(user_json(user_get(view.team, user_id), []))


def _finds_nothing(view: UserViewSet, request: Request, user_id: UUID) -> Response:
    raise ServiceError(ErrorCode.NOT_FOUND)


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        (_shows, "our key: path user_id of Theirs (sandbox): shows mark"),
        (_tells, "our key: path user_id of Theirs (sandbox): 404 "),
        (_writes, "our key: path user_id of Theirs (sandbox): changed users_user of Theirs (sandbox)"),
        (
            _writes_its_own,
            "our key: missing path user_id of Ours (production): refused with 404, and wrote ['users_user']",
        ),
        (
            _finds_nothing,
            "our key: path user_id of Ours (production): the caller's own is not told from a missing one: ",
        ),
    ],
)
def test_a_planted_leak_is_found(stage: Stage, monkeypatch: pytest.MonkeyPatch, planted: object, found: str) -> None:
    route = next(item for item in ROUTES if str(item) == "GET /v2/user/<user_id>")
    monkeypatch.setattr(UserViewSet, "retrieve", planted)
    problems = problems_of(stage, route)
    assert [problem for problem in problems if problem.startswith(found)] != [], problems


def test_a_door_that_a_dead_key_opens_is_found(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    route = next(item for item in ROUTES if str(item) == "GET /v2/user/<user_id>")
    monkeypatch.setattr(TeamKey, "is_alive", lambda _key, _now: True)
    assert {problem.partition(":")[0] for problem in unlike_no_key(stage, route)} == {
        "a revoked key",
        "an expired key",
    }
