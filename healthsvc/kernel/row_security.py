"""Row-level security as a migration operation: each team-owned table gets its policy where it is made."""

from collections.abc import Sequence

from django.db.migrations.operations import RunSQL
from psycopg import sql

from healthsvc.kernel.scope import SystemScope

#: In sub-selects, so that the settings are read once a statement and not once a row.
_TEAM_TEST = (
    "team_id = (SELECT nullif(current_setting('healthsvc.team_id', true), '')::uuid)"
    " AND environment = (SELECT current_setting('healthsvc.environment', true))"
)


def team_row_security(
    table: str, *, system: Sequence[SystemScope] = (), append_only: bool = False, purge: bool = True
) -> RunSQL:
    """Force row-level security on `table`, which has columns `team_id` and `environment`.

    A row is shown to and accepted from its own team and environment, and the named system scopes; to nobody else,
    the table's owner included. With `append_only` the database refuses to change or remove rows except to the
    purge scope, which erases and seals again. `purge` admits the purge scope, which every table with a person's data
    needs.
    """
    admitted = [*system, SystemScope.PURGE] if purge and SystemScope.PURGE not in system else list(system)
    test = sql.SQL("({team}) OR (SELECT current_setting('healthsvc.system', true)) = ANY ({scopes})").format(
        team=sql.SQL(_TEAM_TEST), scopes=sql.Literal([str(scope) for scope in admitted])
    )
    name = sql.Identifier(table)
    forward = [
        sql.SQL("ALTER TABLE {} ENABLE ROW LEVEL SECURITY").format(name),
        sql.SQL("ALTER TABLE {} FORCE ROW LEVEL SECURITY").format(name),
    ]
    policies = _append_only_policies(test) if append_only else {"team_only": _everything(test)}
    forward += [
        sql.SQL("CREATE POLICY {} ON {} {}").format(sql.Identifier(policy), name, body)
        for policy, body in policies.items()
    ]
    reverse = [sql.SQL("DROP POLICY {} ON {}").format(sql.Identifier(policy), name) for policy in policies]
    reverse.append(sql.SQL("ALTER TABLE {} DISABLE ROW LEVEL SECURITY").format(name))
    return RunSQL(
        sql=[statement.as_string() for statement in forward],
        reverse_sql=[statement.as_string() for statement in reverse],
    )


def team_row_security_widen(table: str, *, system: Sequence[SystemScope]) -> list[RunSQL]:
    """Admit other system scopes to a table that has its policy already; named in full, the old ones too."""
    made = team_row_security(table, system=system)
    create = made.sql[-1]
    drop = sql.SQL("DROP POLICY team_only ON {}").format(sql.Identifier(table)).as_string()
    return [RunSQL(sql=[drop, create], reverse_sql=RunSQL.noop)]


def _everything(test: sql.Composable) -> sql.Composable:
    return sql.SQL("USING ({test}) WITH CHECK ({test})").format(test=test)


def _append_only_policies(test: sql.Composable) -> dict[str, sql.Composable]:
    purging = sql.SQL("current_setting('healthsvc.system', true) = {}").format(sql.Literal(str(SystemScope.PURGE)))
    return {
        "team_read": sql.SQL("FOR SELECT USING ({})").format(test),
        "team_append": sql.SQL("FOR INSERT WITH CHECK ({})").format(test),
        "purge_change": sql.SQL("FOR UPDATE USING ({test}) WITH CHECK ({test})").format(test=purging),
        "purge_remove": sql.SQL("FOR DELETE USING ({})").format(purging),
    }
