import django.contrib.postgres.indexes
from django.db import migrations, models

from healthsvc.kernel.row_security import team_row_security
from healthsvc.kernel.scope import SystemScope

#: In the statement that writes the record, as whoever writes it.
NAME = """
CREATE FUNCTION management_access_named_write() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO management_access_named (team_id, environment, user_id, record_id)
    SELECT DISTINCT NEW.team_id, NEW.environment, named.user_id::uuid, NEW.id
      FROM jsonb_array_elements_text(NEW.object_ids -> 'user_ids') AS named (user_id);
    RETURN NULL;
END
$$
"""
NAME_TRIGGER = (
    "CREATE TRIGGER management_access_named_write AFTER INSERT ON management_access_record"
    " FOR EACH ROW WHEN (NEW.object_ids ? 'user_ids') EXECUTE FUNCTION management_access_named_write()"
)
NAME_BEFORE = (
    "SELECT set_config('healthsvc.system', 'purge', true)",
    """
    INSERT INTO management_access_named (team_id, environment, user_id, record_id)
    SELECT DISTINCT record.team_id, record.environment, named.user_id::uuid, record.id
      FROM management_access_record AS record,
           jsonb_array_elements_text(record.object_ids -> 'user_ids') AS named (user_id)
     WHERE record.object_ids ? 'user_ids'
    """,
    "SELECT set_config('healthsvc.system', '', true)",
)

#: Ids that no month takes: before the first, after the last, and between them.
GAPS = """
CREATE FUNCTION management_trail_gaps(OUT begins uuid, OUT ends uuid) RETURNS SETOF record
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    WITH month AS (
        SELECT substring(bound FROM $bound$FROM \\('([0-9a-f-]+)'\\)$bound$) AS low,
               substring(bound FROM $bound$TO \\('([0-9a-f-]+)'\\)$bound$) AS high
          FROM pg_inherits JOIN pg_class AS class ON class.oid = inhrelid,
               pg_get_expr(class.relpartbound, class.oid) AS bound
         WHERE inhparent = 'management_access_record'::regclass AND bound <> 'DEFAULT'
    ), gap AS (
        SELECT lag(high) OVER (ORDER BY high) AS begins, low AS ends FROM month
    )
    SELECT gap.begins::uuid, gap.ends::uuid FROM gap WHERE gap.ends IS NOT NULL AND gap.ends IS DISTINCT FROM gap.begins
     UNION ALL
    SELECT max(high)::uuid, NULL FROM month
$$
"""

#: Whatever is asked for, the last year stays, and so does a month with a record that no seal covers. Records without a
#: month go one by one, once they are as old, and sealed.
DROP_SEALED = """
CREATE OR REPLACE FUNCTION management_trail_drop(older_than timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
    scope_before text := coalesce(current_setting('healthsvc.system', true), '');
    bound uuid := management_trail_id_floor(least(older_than, now() - interval '1 year'));
    month record;
    gap record;
    dropped integer := 0;
BEGIN
    PERFORM set_config('healthsvc.system', 'purge', true);
    FOR month IN SELECT name, ends_before FROM management_trail_months() WHERE ends_before <= bound LOOP
        IF EXISTS (
            SELECT FROM (
                SELECT DISTINCT team_id, environment FROM management_access_record
                 WHERE id < month.ends_before AND tableoid = month.name::regclass
            ) AS team
              LEFT JOIN LATERAL (
                SELECT to_position, to_id FROM management_access_seal AS seal
                 WHERE seal.team_id = team.team_id AND seal.environment = team.environment
                 ORDER BY number DESC LIMIT 1
              ) AS head ON true
             WHERE EXISTS (
                SELECT FROM management_access_record AS record
                 WHERE record.team_id = team.team_id AND record.environment = team.environment
                   AND record.id < month.ends_before AND record.tableoid = month.name::regclass
                   AND (head.to_id IS NULL OR (record.position, record.id) > (head.to_position, head.to_id)))
        ) THEN
            CONTINUE;
        END IF;
        EXECUTE format('DROP TABLE %I', month.name);
        dropped := dropped + 1;
    END LOOP;
    FOR gap IN SELECT begins, ends FROM management_trail_gaps() WHERE begins IS NULL OR begins < bound LOOP
        DELETE FROM management_access_record AS record
         WHERE record.id >= coalesce(gap.begins, '00000000-0000-0000-0000-000000000000'::uuid)
           AND record.id < least(gap.ends, bound)
           AND EXISTS (
            SELECT FROM management_access_seal AS seal
             WHERE seal.team_id = record.team_id AND seal.environment = record.environment
               AND (seal.to_position, seal.to_id) >= (record.position, record.id));
    END LOOP;
    PERFORM set_config('healthsvc.system', scope_before, true);
    RETURN dropped;
END
$$
"""
#: As migration 0005 made it.
DROP_OLD = """
CREATE OR REPLACE FUNCTION management_trail_drop(older_than timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
    bound uuid := management_trail_id_floor(least(older_than, now() - interval '1 year'));
    part text;
    dropped integer := 0;
BEGIN
    FOR part IN SELECT name FROM management_trail_months() WHERE ends_before <= bound LOOP
        EXECUTE format('DROP TABLE %I', part);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END
$$
"""


class Migration(migrations.Migration):
    dependencies = [("management", "0008_keys_rotated")]

    operations = [
        migrations.CreateModel(
            name="AccessNamed",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "user_id",
                        "record_id",
                        "team_id",
                        "environment",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("team_id", models.UUIDField()),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "sandbox"), ("production", "production")], max_length=10),
                ),
                ("user_id", models.UUIDField()),
                ("record_id", models.UUIDField()),
            ],
            options={
                "db_table": "management_access_named",
                "indexes": [
                    django.contrib.postgres.indexes.BrinIndex(
                        autosummarize=True, fields=["record_id"], name="access_named_age"
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("environment__in", ["sandbox", "production"])),
                        name="management_access_named_environment_known",
                    )
                ],
            },
        ),
        team_row_security("management_access_named", system=[SystemScope.STAFF], append_only=True),
        migrations.RunSQL(NAME_BEFORE, migrations.RunSQL.noop),
        migrations.RunSQL(NAME, "DROP FUNCTION management_access_named_write()"),
        migrations.RunSQL(NAME_TRIGGER, "DROP TRIGGER management_access_named_write ON management_access_record"),
        migrations.RunSQL(GAPS, "DROP FUNCTION management_trail_gaps()"),
        migrations.RunSQL(DROP_SEALED, DROP_OLD),
    ]
