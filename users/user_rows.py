"""Users as they are read most often: by statements that are prepared once a connection, past the query builder.

Building such a query anew takes longer than answering it. Conditions are spelled so that each is a search in one index
of `users_user`, whatever the parameters are: plans are kept with the statements.
"""

from typing import Any, Final, LiteralString
from uuid import UUID

from django.db import connection

from healthsvc.kernel.postgres.statements import rows_of
from healthsvc.kernel.principal import TeamContext
from users.models import User

#: Every column, in the model's order.
_OF_TEAM: Final[LiteralString] = """
SELECT id, team_id, environment, client_user_id, created_at, fallback_time_zone, fallback_time_zone_source,
       fallback_time_zone_updated_at, fallback_birth_date, fallback_birth_date_source, fallback_birth_date_updated_at,
       ingestion_start_on, ingestion_end_on, deleted_at
FROM users_user WHERE team_id = %(team_id)s AND environment = %(environment)s
"""
ONE: Final[LiteralString] = _OF_TEAM + "AND id = %(user_id)s"
NAMED: Final[LiteralString] = _OF_TEAM + "AND client_user_id = %(client_user_id)s AND deleted_at IS NULL"
NAMES_FROM: Final[LiteralString] = (
    _OF_TEAM
    + """AND client_user_id COLLATE "C" >= %(first)s AND deleted_at IS NULL
ORDER BY client_user_id COLLATE "C" LIMIT %(limit)s"""
)
NAMES_WITHIN: Final[LiteralString] = (
    _OF_TEAM
    + """AND client_user_id COLLATE "C" >= %(first)s AND client_user_id COLLATE "C" < %(after)s AND deleted_at IS NULL
ORDER BY client_user_id COLLATE "C" LIMIT %(limit)s"""
)
IDS_WITHIN: Final[LiteralString] = (
    _OF_TEAM + "AND id >= %(first)s AND id <= %(last)s AND deleted_at IS NULL ORDER BY id LIMIT %(limit)s"
)

_FIELDS: Final = tuple(User._meta.concrete_fields)
_NAMES: Final = tuple(field.attname for field in _FIELDS)
#: What is opened or made anew on the way out, by its place in the row.
_READERS: Final = tuple((place, field) for place, field in enumerate(_FIELDS) if hasattr(field, "from_db_value"))


def user_with_id(team: TeamContext, user_id: UUID) -> User | None:
    """A user of the team, deleted or not; None where there is none."""
    return _first(_users(team, ONE, user_id=user_id))


def user_named(team: TeamContext, client_user_id: str) -> User | None:
    """The living user with this client_user_id; None where there is none."""
    return _first(_users(team, NAMED, client_user_id=client_user_id))


def users_named_within(team: TeamContext, first: str, after: str | None, *, limit: int) -> list[User]:
    """Living users whose client_user_id is `first` or later and before `after`, None for no end, by code points."""
    if after is None:
        return _users(team, NAMES_FROM, first=first, limit=limit)
    return _users(team, NAMES_WITHIN, first=first, after=after, limit=limit)


def users_with_ids_within(team: TeamContext, first: UUID, last: UUID, *, limit: int) -> list[User]:
    """Living users with an id of this range, both ends included, in its order."""
    return _users(team, IDS_WITHIN, first=first, last=last, limit=limit)


def _users(team: TeamContext, statement: LiteralString, **parameters: Any) -> list[User]:
    owner = {"team_id": team.team_id, "environment": str(team.environment)}
    return [_user(row) for row in rows_of(statement, {**owner, **parameters})]


def _user(row: tuple[Any, ...]) -> User:
    values = list(row)
    for place, field in _READERS:
        values[place] = field.from_db_value(values[place], None, connection)
    return User.from_db(connection.alias, _NAMES, values)


def _first(users: list[User]) -> User | None:
    return users[0] if users else None
