"""What users' API costs a team of a million people: lists, searches, resolving, reading and creating.

Beside each the SQL that could answer it from an index alone, under the same row security and over the same
connection. Over HTTP there is also what any request costs that finds nobody: key, limits, scope, trail.
"""

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, LiteralString
from uuid import UUID, uuid4

from django.db import connection

from bench.answers import WrongAnswerError
from bench.options import Options, options_read
from bench.people_fill import Crowd, crowd
from bench.server import Client, server
from bench.stage import bests, load_note
from bench.targets import Targets
from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from users import selectors, services
from users.models import User

_BOUND: Final = 3
_LIMIT: Final = 100
_SEARCHED: Final = 50

_COUNT: Final[LiteralString] = """
SELECT count(*) FROM users_user WHERE team_id = %s AND environment = %s AND deleted_at IS NULL
"""
_PAGE: Final[LiteralString] = """
SELECT created_at, id FROM users_user WHERE team_id = %s AND environment = %s AND deleted_at IS NULL
ORDER BY created_at DESC, id DESC LIMIT %s OFFSET %s
"""
_BY_NAME: Final[LiteralString] = """
SELECT client_user_id FROM users_user WHERE team_id = %s AND environment = %s AND deleted_at IS NULL
    AND client_user_id COLLATE "C" >= %s AND client_user_id COLLATE "C" < %s
ORDER BY client_user_id COLLATE "C" LIMIT %s
"""
_BY_ID: Final[LiteralString] = """
SELECT id FROM users_user WHERE team_id = %s AND environment = %s AND deleted_at IS NULL AND id BETWEEN %s AND %s
ORDER BY id LIMIT %s
"""
_RESOLVE: Final[LiteralString] = """
SELECT client_user_id FROM users_user
WHERE team_id = %s AND environment = %s AND deleted_at IS NULL AND client_user_id = %s
"""
_SOURCES: Final[LiteralString] = """
SELECT user_id, provider FROM links_connection
WHERE team_id = %s AND environment = %s AND disconnected_at IS NULL AND user_id = ANY(%s)
"""
_INSERT: Final[LiteralString] = """
INSERT INTO users_user (
    id, team_id, environment, client_user_id, created_at, fallback_time_zone_source, fallback_birth_date_source
) VALUES (%s, %s, %s, %s, %s, '', '')
"""


@dataclass(frozen=True, slots=True)
class _Step:
    """One thing that is asked: as SQL, of the service in process, and over HTTP."""

    name: str
    floor: Callable[[], object]
    service: Callable[[], object]
    request: Callable[[], tuple[str, str, bytes | None]]


class _Asked:
    """What is asked of a crowd."""

    def __init__(self, people: Crowd) -> None:
        self._people = people
        self._team = people.tenant.context
        self._owner = (people.tenant.team.id, str(self._team.environment))
        middle = selectors.user_page(self._team, offset=people.count // 2, limit=1).users[0]
        self._id, self._name = middle.id, middle.client_user_id
        #: Whose connections are looked up where an index gives names without ids.
        self._some = [user.id for user in selectors.user_page(self._team, offset=0, limit=_SEARCHED).users]
        self._numbers: Iterator[int] = itertools.count(1)

    def steps(self) -> Iterator[_Step]:
        """All of them; those that create come last."""
        for name, offset in (("first", 0), ("middle", self._people.count // 2), ("last", self._people.count - _LIMIT)):
            yield self._list(f"list, {name} page of {_LIMIT}", max(0, offset))
        for beginning in (self._name, self._name[:9], str(self._id), str(self._id)[:2]):
            found = len(selectors.users_search(self._team, beginning))
            kind = "an id" if str(self._id).startswith(beginning) else "a client id"
            whole = "whole" if len(beginning) > 9 else f"{len(beginning)} characters"
            yield self._search(f"search by {kind}, {whole}: {found} found", beginning)
        yield _Step(
            "resolve a client id",
            lambda: (self._sql(_RESOLVE, self._name), self._sources([self._id])),
            lambda: self._resolved(selectors.user_resolve(self._team, self._name)),
            lambda: ("GET", f"/v2/user/resolve/{self._name}", None),
        )
        yield _Step(
            "read one",
            lambda: (self._sql(_BY_ID, self._id, self._id, 1), self._sources([self._id])),
            lambda: self._resolved(selectors.user_get(self._team, self._id)),
            lambda: ("GET", f"/v2/user/{self._id}", None),
        )
        yield _Step("create one", self._inserted, self._created, self._posted)

    def _sql(self, statement: LiteralString, *more: UUID | str | int | list[UUID]) -> list[Any]:
        with connection.cursor() as cursor:
            cursor.execute(statement, (*self._owner, *more))
            rows: list[Any] = cursor.fetchall() if cursor.description else []
        return rows

    def _sources(self, user_ids: list[UUID]) -> list[Any]:
        return self._sql(_SOURCES, user_ids)

    def _list(self, name: str, offset: int) -> _Step:
        return _Step(
            name,
            lambda: (self._sql(_COUNT), self._sources([row[1] for row in self._sql(_PAGE, _LIMIT, offset)])),
            lambda: selectors.user_page(self._team, offset=offset, limit=_LIMIT),
            lambda: ("GET", f"/v2/user?limit={_LIMIT}&offset={offset}", None),
        )

    def _search(self, name: str, text: str) -> _Step:
        def floor() -> object:
            after = text[:-1] + chr(ord(text[-1]) + 1)
            digits = text.replace("-", "")
            ids: list[Any] = []
            if set(digits) <= set("0123456789abcdef"):
                first, last = UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))
                ids = self._sql(_BY_ID, first, last, _SEARCHED)
            names = self._sql(_BY_NAME, text, after, _SEARCHED)
            return names, self._sources(([row[0] for row in ids] + self._some)[: max(len(names), len(ids))])

        return _Step(
            name,
            floor,
            lambda: self._with_sources(selectors.users_search(self._team, text)),
            lambda: ("GET", f"/v2/team/users/search?query_id={text}", None),
        )

    def _with_sources(self, users: list[User]) -> object:
        return selectors.sources_of(self._team, users)

    def _resolved(self, user: User) -> object:
        return self._with_sources([user])

    def _inserted(self) -> object:
        values = (uuid4(), *self._owner, f"inserted-{next(self._numbers)}", clock.now())
        with connection.cursor() as cursor:
            return cursor.execute(_INSERT, values)

    def _created(self) -> object:
        return services.user_create(team=self._team, client_user_id=f"created-{next(self._numbers)}")

    def _posted(self) -> tuple[str, str, bytes | None]:
        return "POST", "/v2/user", json.dumps({"client_user_id": f"posted-{next(self._numbers)}"}).encode()


def _checked(people: Crowd) -> None:
    """Raise unless pages from both ends and the total say what SQL says."""
    team, count = people.tenant.context, people.count
    order = User.objects.for_team(team).living().order_by("-created_at", "-id")
    for offset in (0, 7, count // 2 - 1, count // 2 + 1, count - _LIMIT, count - 3):
        page = selectors.user_page(team, offset=max(0, offset), limit=_LIMIT)
        wanted = list(order.values_list("id", flat=True)[max(0, offset) : max(0, offset) + _LIMIT])
        if page.total != count or [user.id for user in page.users] != wanted:
            raise WrongAnswerError(f"The page at {offset} differs, or its total {page.total} does.")


def measure(options: Options, targets: Targets) -> None:
    """Print a line for each thing asked; on a database of its own."""
    with crowd(options.people) as people, server() as port, team_scope(people.tenant.context):
        _checked(people)
        client = Client(port, people.tenant.key)
        nobody = f"/v2/user/{uuid4()}"
        print(f"\nUsers' API, a team of {people.count:,}; milliseconds, the best of {options.rounds * 3}, in turns")
        print(f"  {'':<48}{'index-only SQL':>15}{'service':>9}{'ratio':>7}{'over HTTP':>11}{'finds nobody':>14}")
        for step in _Asked(people).steps():
            found = bests(
                {
                    "floor": step.floor,
                    "service": step.service,
                    "http": lambda step=step: _sent(client, step.request()),  # type: ignore[misc]
                    "nobody": lambda: client.send("GET", nobody),
                },
                rounds=options.rounds * 3,
            )
            floor, service, http, none = (found[name] * 1000 for name in ("floor", "service", "http", "nobody"))
            ratio = service / floor
            print(f"  {step.name:<48}{floor:15.3f}{service:9.3f}{ratio:7.2f}{http:11.3f}{none:14.3f}", flush=True)
            targets.at_most(f"{step.name}, times the index-only SQL", ratio, _BOUND)
        client.close()


def _sent(client: Client, request: tuple[str, str, bytes | None]) -> None:
    reply = client.send(*request)
    if reply.status != 200:
        raise WrongAnswerError(f"{request[0]} {request[1]} was answered with {reply.status}: {reply.body[:300]!r}")


if __name__ == "__main__":
    reached = Targets()
    print(f"Before: {load_note()}")
    measure(options_read(), reached)
    reached.told()
    print(f"After: {load_note()}")
