"""Deleting and erasing a user: imports end at once; samples, summaries and receipts of pushes go portion by portion.

Nobody writes meanwhile: every writer holds the user's row, and there is none for a user who was deleted.
"""

from collections.abc import Mapping
from typing import Final, LiteralString
from uuid import UUID

from django.db import connection

from aggregation.constants import APPLE_HEALTH_JOB, EXPORT_FILE_PURPOSE
from aggregation.models import Block, Push, Series, Summary, Tail
from healthsvc.kernel.principal import TeamContext
from management.files import file_remove
from management.jobs import jobs_end
from management.models import StoredFile

TABLES: Final = frozenset(model._meta.db_table for model in (Block, Push, Series, Summary, Tail))

#: Found by keys, of which `user_id` is the first or the third, and removed by where they lie: a portion costs what it
#: holds, also before the database knows how many rows of a user there are. Joined by their keys, rows that nobody has
#: counted are compared each with each. Blocks before their series.
_STATEMENTS: Final[Mapping[str, LiteralString]] = {
    "aggregation_tail": """
DELETE FROM aggregation_tail WHERE user_id = %(user_id)s AND ctid = ANY (ARRAY (
    SELECT ctid FROM aggregation_tail
    WHERE user_id = %(user_id)s AND team_id = %(team_id)s AND environment = %(environment)s
    LIMIT %(rows)s
))
""",
    "aggregation_block": """
DELETE FROM aggregation_block WHERE user_id = %(user_id)s AND ctid = ANY (ARRAY (
    SELECT ctid FROM aggregation_block
    WHERE user_id = %(user_id)s AND team_id = %(team_id)s AND environment = %(environment)s
    LIMIT %(rows)s
))
""",
    "aggregation_series": """
DELETE FROM aggregation_series WHERE user_id = %(user_id)s AND ctid = ANY (ARRAY (
    SELECT ctid FROM aggregation_series
    WHERE user_id = %(user_id)s AND team_id = %(team_id)s AND environment = %(environment)s
    LIMIT %(rows)s
))
""",
    "aggregation_summary": """
DELETE FROM aggregation_summary WHERE user_id = %(user_id)s AND ctid = ANY (ARRAY (
    SELECT ctid FROM aggregation_summary
    WHERE user_id = %(user_id)s AND team_id = %(team_id)s AND environment = %(environment)s
    LIMIT %(rows)s
))
""",
    "aggregation_push": """
DELETE FROM aggregation_push WHERE user_id = %(user_id)s AND ctid = ANY (ARRAY (
    SELECT ctid FROM aggregation_push
    WHERE user_id = %(user_id)s AND team_id = %(team_id)s AND environment = %(environment)s
    LIMIT %(rows)s
))
""",
}
_ROWS: Final = 2_000


def imports_end(team: TeamContext, user_id: UUID) -> int:
    """End a user's imports and remove what was uploaded for them; how many there were.

    A worker that is at one finds its lease lost, or the user gone, at its next batch, which is undone.
    """
    ended = jobs_end(team=team, user_id=user_id, kind=APPLE_HEALTH_JOB, error_code="user_gone")
    for file in StoredFile.objects.for_team(team).filter(user_id=user_id, purpose=EXPORT_FILE_PURPOSE):
        file_remove(file)
    return ended


def user_portion_erase(team: TeamContext, user_id: UUID) -> Mapping[str, int]:
    """Erase some of what this app keeps of a user; how many rows, by table. In the caller's transaction."""
    owner: dict[str, UUID | str | int] = {
        "user_id": user_id,
        "team_id": team.team_id,
        "environment": str(team.environment),
        "rows": _ROWS,
    }
    with connection.cursor() as cursor:
        for table, statement in _STATEMENTS.items():
            cursor.execute(statement, owner)
            if cursor.rowcount:
                return {table: cursor.rowcount}
    return {}
