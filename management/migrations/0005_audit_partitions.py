import django.db.models.functions.comparison
from django.db import migrations, models

import healthsvc.kernel.ids
import management.models.trail
from healthsvc.kernel.row_security import team_row_security
from healthsvc.kernel.scope import SystemScope

#: The least id of a millisecond, as `healthsvc.kernel.ids.uuid_floor` makes it.
ID_FLOOR = """
CREATE FUNCTION management_trail_id_floor(instant timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT (lpad(to_hex((extract(epoch FROM instant) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid
$$
"""

#: Partitions with the end of each; null for the default one.
MONTHS = """
CREATE FUNCTION management_trail_months(OUT name text, OUT ends_before uuid) RETURNS SETOF record
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT class.relname::text,
           substring(pg_get_expr(class.relpartbound, class.oid) FROM $bound$TO \\('([0-9a-f-]+)'\\)$bound$)::uuid
      FROM pg_inherits JOIN pg_class AS class ON class.oid = inhrelid
     WHERE inhparent = 'management_access_record'::regclass
$$
"""

#: Rows that went to the default partition meanwhile move to their month: where there are none, that is a look.
ENSURE = """
CREATE FUNCTION management_trail_ensure(ahead integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
SET lock_timeout = '5s' AS $$
DECLARE
    scope_before text := coalesce(current_setting('healthsvc.system', true), '');
    made integer := 0;
    month timestamp := date_trunc('month', now() AT TIME ZONE 'UTC');
    last timestamp := month + make_interval(months => least(ahead, 24));
    ends uuid := (SELECT max(ends_before::text)::uuid FROM management_trail_months());
    part text;
    low uuid;
    high uuid;
BEGIN
    PERFORM set_config('healthsvc.system', 'purge', true);
    IF ends IS NOT NULL THEN
        month := to_timestamp(('x' || left(replace(ends::text, '-', ''), 12))::bit(48)::bigint / 1000.0)
                 AT TIME ZONE 'UTC';
    END IF;
    WHILE month <= last LOOP
        part := 'management_access_record_' || to_char(month, '"y"YYYY"m"MM');
        low := management_trail_id_floor(month AT TIME ZONE 'UTC');
        high := management_trail_id_floor((month + interval '1 month') AT TIME ZONE 'UTC');
        LOCK TABLE management_access_record_default IN ACCESS EXCLUSIVE MODE;
        EXECUTE format('CREATE TABLE %I (LIKE management_access_record INCLUDING ALL)', part);
        EXECUTE format(
            'WITH moved AS (DELETE FROM management_access_record WHERE id >= %L AND id < %L RETURNING *)'
            ' INSERT INTO %I SELECT * FROM moved', low, high, part);
        EXECUTE format(
            'ALTER TABLE management_access_record ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', part, low, high);
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', part);
        made := made + 1;
        month := month + interval '1 month';
    END LOOP;
    PERFORM set_config('healthsvc.system', scope_before, true);
    RETURN made;
END
$$
"""

#: Whatever is asked for, the last year stays.
DROP_OLD = """
CREATE FUNCTION management_trail_drop(older_than timestamptz) RETURNS integer
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

#: After a restore from a dump, numbers of transactions begin low again; positions go on above those that were sealed.
REBASE = """
CREATE FUNCTION management_trail_rebase() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    scope_before text := coalesce(current_setting('healthsvc.system', true), '');
    here bigint := pg_current_xact_id()::text::bigint;
    offset_now bigint := management_trail_offset();
    sealed_at timestamptz;
    sealed bigint;
BEGIN
    PERFORM set_config('healthsvc.system', 'purge', true);
    SELECT coalesce(max(seen_at), to_timestamp(0)), coalesce(max(position), 0) INTO sealed_at, sealed
      FROM management_trail_mark;
    sealed := greatest(sealed, (
        SELECT max(position) FROM management_access_record
         WHERE id >= management_trail_id_floor(greatest(sealed_at - interval '1 day', to_timestamp(0)))));
    PERFORM set_config('healthsvc.system', scope_before, true);
    IF here + offset_now >= sealed THEN
        RETURN offset_now;
    END IF;
    offset_now := sealed + 1 - here;
    EXECUTE format(
        'CREATE OR REPLACE FUNCTION management_trail_offset() RETURNS bigint LANGUAGE sql STABLE'
        ' AS ''SELECT %s::bigint''', offset_now);
    EXECUTE format(
        'ALTER TABLE management_access_record ALTER COLUMN position'
        ' SET DEFAULT (pg_current_xact_id()::text::bigint + %s)', offset_now);
    RETURN offset_now;
END
$$
"""
OFFSET = "CREATE FUNCTION management_trail_offset() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT 0::bigint'"

#: The functions that make months move rows as the owner; nobody else removes any.
GUARD = """
CREATE FUNCTION management_access_record_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF current_user = (SELECT tableowner FROM pg_tables WHERE schemaname = 'public'
                         AND tablename = 'management_access_record') THEN
        RETURN coalesce(NEW, OLD);
    END IF;
    IF TG_OP = 'UPDATE' AND NEW.address = '' AND OLD.actor_kind IN ('link_token', 'device_session')
       AND to_jsonb(NEW) - 'address' = to_jsonb(OLD) - 'address' THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'the audit trail is append-only' USING ERRCODE = 'insufficient_privilege';
END
$$
"""
SEAL_GUARD = """
CREATE FUNCTION management_access_seal_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.entries = '' AND to_jsonb(NEW) - 'entries' = to_jsonb(OLD) - 'entries' THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'seals are for ever' USING ERRCODE = 'insufficient_privilege';
END
$$
"""

INDEXES = {
    "access_record_newest": "team_id, environment, id",
    "access_record_to_seal": "team_id, environment, position, id",
    "access_record_of_person": "user_id, id",
    "access_record_of_actor": "actor_id, id",
    "access_record_of_request": "request_id",
}

#: What there is becomes the first partition, as it stands; where there is nothing, its table goes.
CONVERT: tuple[str, ...] = (
    "ALTER TABLE management_access_record RENAME TO management_access_record_before",
    "ALTER INDEX management_access_record_pkey RENAME TO management_access_record_before_pkey",
    *(f"ALTER INDEX {name} RENAME TO {name}_before" for name in INDEXES),
    *(
        f"DROP POLICY {policy} ON management_access_record_before"
        for policy in ("team_read", "team_append", "purge_change", "purge_remove")
    ),
    (
        "CREATE TABLE management_access_record (LIKE management_access_record_before INCLUDING DEFAULTS"
        " INCLUDING CONSTRAINTS) PARTITION BY RANGE (id)"
    ),
    "ALTER TABLE management_access_record ADD CONSTRAINT management_access_record_pkey PRIMARY KEY (id)",
    *(f"CREATE INDEX {name} ON management_access_record ({columns})" for name, columns in INDEXES.items()),
    """
    DO $$
    DECLARE
        newest uuid;
        bound timestamptz;
    BEGIN
        ALTER TABLE management_access_record_before NO FORCE ROW LEVEL SECURITY;
        SELECT max(id::text)::uuid INTO newest FROM management_access_record_before;
        IF newest IS NULL THEN
            DROP TABLE management_access_record_before;
            RETURN;
        END IF;
        bound := to_timestamp(('x' || left(replace(newest::text, '-', ''), 12))::bit(48)::bigint / 1000.0);
        bound := (date_trunc('month', greatest(bound, now()) AT TIME ZONE 'UTC') + interval '1 month')
                 AT TIME ZONE 'UTC';
        EXECUTE format(
            'ALTER TABLE management_access_record ATTACH PARTITION management_access_record_before'
            ' FOR VALUES FROM (MINVALUE) TO (%L)', management_trail_id_floor(bound));
        ALTER TABLE management_access_record_before FORCE ROW LEVEL SECURITY;
    END
    $$
    """,
    "CREATE TABLE management_access_record_default PARTITION OF management_access_record DEFAULT",
    "ALTER TABLE management_access_record_default ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE management_access_record_default FORCE ROW LEVEL SECURITY",
    (
        "CREATE TRIGGER management_access_record_guard BEFORE UPDATE OR DELETE ON management_access_record"
        " FOR EACH ROW EXECUTE FUNCTION management_access_record_guard()"
    ),
)
CLOSED: tuple[str, ...] = tuple(
    f"REVOKE EXECUTE ON FUNCTION {name} FROM PUBLIC"
    for name in (
        "management_trail_ensure(integer)", "management_trail_drop(timestamptz)", "management_trail_rebase()",
    )
)  # fmt: skip
SEAL_TRIGGER = (
    "CREATE TRIGGER management_access_seal_guard BEFORE UPDATE OR DELETE ON management_access_seal"
    " FOR EACH ROW EXECUTE FUNCTION management_access_seal_guard()"
)

#: Back to one table, with the rows of all months.
REVERT: tuple[str, ...] = (
    "DROP TRIGGER management_access_record_guard ON management_access_record",
    "SELECT set_config('healthsvc.system', 'purge', true)",
    "ALTER TABLE management_access_record RENAME TO management_access_record_months",
    "ALTER INDEX management_access_record_pkey RENAME TO management_access_record_months_pkey",
    *(f"ALTER INDEX {name} RENAME TO {name}_months" for name in INDEXES),
    (
        "CREATE TABLE management_access_record (LIKE management_access_record_months INCLUDING DEFAULTS"
        " INCLUDING CONSTRAINTS)"
    ),
    "INSERT INTO management_access_record SELECT * FROM management_access_record_months",
    "ALTER TABLE management_access_record ADD CONSTRAINT management_access_record_pkey PRIMARY KEY (id)",
    *(f"CREATE INDEX {name} ON management_access_record ({columns})" for name, columns in INDEXES.items()),
    "DROP TABLE management_access_record_months",
    "SELECT set_config('healthsvc.system', '', true)",
)

_RECORDS = team_row_security("management_access_record", system=[SystemScope.STAFF], append_only=True)


class Migration(migrations.Migration):
    dependencies = [("management", "0004_teams_keys_members")]

    operations = [
        migrations.CreateModel(
            name="AccessSeal",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=healthsvc.kernel.ids.uuid_ordered, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("team_id", models.UUIDField()),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "sandbox"), ("production", "production")], max_length=10),
                ),
                ("number", models.PositiveIntegerField()),
                ("to_position", models.BigIntegerField()),
                ("to_id", models.UUIDField()),
                ("row_count", models.PositiveIntegerField()),
                ("first_id", models.UUIDField()),
                ("last_id", models.UUIDField()),
                ("entries", models.BinaryField()),
                ("entries_digest", models.BinaryField(max_length=32)),
                ("previous_digest", models.BinaryField(max_length=32)),
                ("digest", models.BinaryField(max_length=32)),
                ("signature", models.BinaryField(max_length=64)),
                ("sealed_at", models.DateTimeField()),
            ],
            options={
                "db_table": "management_access_seal",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("environment__in", ["sandbox", "production"])),
                        name="management_access_seal_environment_known",
                    ),
                    models.UniqueConstraint(
                        fields=("team_id", "environment", "number"), name="access_seal_number_once"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TrailMark",
            fields=[
                ("name", models.CharField(max_length=10, primary_key=True, serialize=False)),
                ("position", models.BigIntegerField()),
                ("seen_at", models.DateTimeField()),
            ],
            options={"db_table": "management_trail_mark"},
        ),
        migrations.AlterModelOptions(
            name="accessrecord",
            options={"permissions": [("export_accessrecord", "Can export the audit trail")]},
        ),
        migrations.RemoveIndex(model_name="accessrecord", name="access_record_of_user"),
        migrations.AddField(
            model_name="accessrecord", name="status_code", field=models.PositiveSmallIntegerField(null=True)
        ),
        migrations.AddField(
            model_name="accessrecord",
            name="position",
            field=models.BigIntegerField(
                db_default=django.db.models.functions.comparison.Cast(
                    django.db.models.functions.comparison.Cast(
                        management.models.trail.TransactionNumber(), models.TextField()
                    ),
                    models.BigIntegerField(),
                ),
                editable=False,
            ),
        ),
        *(
            migrations.AddIndex(model_name="accessrecord", index=models.Index(fields=columns.split(", "), name=name))
            for name, columns in INDEXES.items()
        ),
        migrations.RunSQL(ID_FLOOR, "DROP FUNCTION management_trail_id_floor(timestamptz)"),
        migrations.RunSQL(GUARD, "DROP FUNCTION management_access_record_guard()"),
        # Backwards this comes last: the one table there is then has the policies of old.
        migrations.RunSQL(migrations.RunSQL.noop, tuple(_RECORDS.sql)),
        migrations.RunSQL(CONVERT, REVERT),
        migrations.RunSQL(tuple(_RECORDS.sql), migrations.RunSQL.noop),
        migrations.RunSQL(MONTHS, "DROP FUNCTION management_trail_months()"),
        migrations.RunSQL(ENSURE, "DROP FUNCTION management_trail_ensure(integer)"),
        migrations.RunSQL(DROP_OLD, "DROP FUNCTION management_trail_drop(timestamptz)"),
        migrations.RunSQL(OFFSET, "DROP FUNCTION management_trail_offset()"),
        migrations.RunSQL(REBASE, "DROP FUNCTION management_trail_rebase()"),
        migrations.RunSQL(CLOSED, migrations.RunSQL.noop),
        migrations.RunSQL("SELECT management_trail_ensure(3)", migrations.RunSQL.noop),
        team_row_security("management_access_seal", system=[SystemScope.STAFF], append_only=True),
        migrations.RunSQL(SEAL_GUARD, "DROP FUNCTION management_access_seal_guard()"),
        migrations.RunSQL(SEAL_TRIGGER, "DROP TRIGGER management_access_seal_guard ON management_access_seal"),
    ]
