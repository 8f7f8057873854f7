import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

import healthsvc.kernel.ids
from healthsvc.kernel.row_security import team_row_security
from healthsvc.kernel.scope import SystemScope

#: Rows of the organisations' trail are added and read; without a policy for more the database refuses it.
APPEND_ONLY = (
    "ALTER TABLE management_organisation_record ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE management_organisation_record FORCE ROW LEVEL SECURITY",
    "CREATE POLICY record_read ON management_organisation_record FOR SELECT USING (true)",
    "CREATE POLICY record_append ON management_organisation_record FOR INSERT WITH CHECK (true)",
)
CHANGEABLE = (
    "DROP POLICY record_read ON management_organisation_record",
    "DROP POLICY record_append ON management_organisation_record",
    "ALTER TABLE management_organisation_record DISABLE ROW LEVEL SECURITY",
)


class Migration(migrations.Migration):
    dependencies = [("management", "0003_webhook_preferences")]

    operations = [
        migrations.CreateModel(
            name="Invite",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=healthsvc.kernel.ids.uuid_ordered, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("email", models.EmailField(max_length=254)),
                (
                    "role",
                    models.CharField(
                        choices=[("org_admin", "Org Admin"), ("team_admin", "Team Admin"), ("no_role", "No Role")],
                        max_length=10,
                    ),
                ),
                (
                    "team_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), blank=True, default=list, size=None
                    ),
                ),
                ("invited_at", models.DateTimeField()),
                ("resent_at", models.DateTimeField(null=True)),
                ("created_by", models.CharField(max_length=100)),
            ],
            options={
                "db_table": "management_invite",
            },
        ),
        migrations.CreateModel(
            name="Member",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=healthsvc.kernel.ids.uuid_ordered, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("email", models.EmailField(max_length=254)),
                (
                    "role",
                    models.CharField(
                        choices=[("org_admin", "Org Admin"), ("team_admin", "Team Admin"), ("no_role", "No Role")],
                        max_length=10,
                    ),
                ),
                (
                    "team_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), blank=True, default=list, size=None
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "db_table": "management_member",
            },
        ),
        migrations.CreateModel(
            name="OrganisationRecord",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=healthsvc.kernel.ids.uuid_ordered, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("actor_kind", models.CharField(max_length=20)),
                ("actor_id", models.CharField(max_length=64)),
                ("action", models.CharField(max_length=200)),
                ("object_ids", models.JSONField(default=dict)),
                ("request_id", models.CharField(max_length=64)),
                ("address", models.CharField(max_length=45)),
                ("occurred_at", models.DateTimeField()),
            ],
            options={
                "db_table": "management_organisation_record",
            },
        ),
        migrations.CreateModel(
            name="ScopeRequirement",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=healthsvc.kernel.ids.uuid_ordered, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "sandbox"), ("production", "production")], max_length=10),
                ),
                ("provider", models.CharField(max_length=40)),
                (
                    "required_scopes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=200), default=list, size=None
                    ),
                ),
                (
                    "optional_scopes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=200), default=list, size=None
                    ),
                ),
            ],
            options={
                "db_table": "management_scope_requirement",
            },
        ),
        migrations.CreateModel(
            name="TeamAccessToken",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=healthsvc.kernel.ids.uuid_ordered, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "sandbox"), ("production", "production")], max_length=10),
                ),
                ("token_hash", models.BinaryField(max_length=32, unique=True)),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
            ],
            options={
                "db_table": "management_team_access_token",
            },
        ),
        migrations.AddField(
            model_name="team",
            name="deleted_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="team",
            name="erase_due_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="team",
            name="erased_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="team",
            name="integration_team_id",
            field=models.CharField(blank=True, max_length=256, null=True),
        ),
        migrations.AddField(
            model_name="teamsettings",
            name="company_address",
            field=models.CharField(blank=True, default="", max_length=500),
        ),
        migrations.AddField(
            model_name="teamsettings",
            name="company_website",
            field=models.CharField(blank=True, default="", max_length=2083),
        ),
        migrations.AddField(
            model_name="teamsettings",
            name="critical_result_notification_email",
            field=models.EmailField(blank=True, default="", max_length=254),
        ),
        migrations.AddField(
            model_name="teamsettings",
            name="lab_tests_patient_email_communication_enabled",
            field=models.BooleanField(default=True),
        ),
        migrations.AddField(
            model_name="teamsettings",
            name="lab_tests_patient_sms_communication_enabled",
            field=models.BooleanField(default=True),
        ),
        migrations.AddField(
            model_name="teamsettings",
            name="logo_url",
            field=models.CharField(blank=True, default="", max_length=2083),
        ),
        migrations.AddField(
            model_name="teamsettings",
            name="minor_ordering_enabled",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="teamsettings",
            name="partial_webhooks_enabled",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="teamsettings",
            name="patient_experience",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="teamsettings",
            name="sdk_per_device_activity_timeseries",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="teamsettings",
            name="support_contact",
            field=models.CharField(blank=True, default="", max_length=500),
        ),
        migrations.AddField(
            model_name="teamsettings",
            name="support_email",
            field=models.EmailField(blank=True, default="", max_length=254),
        ),
        migrations.AddIndex(
            model_name="team",
            index=models.Index(
                condition=models.Q(("erase_due_at__isnull", False), ("erased_at", None)),
                fields=["erase_due_at"],
                name="team_erase_due",
            ),
        ),
        migrations.AddConstraint(
            model_name="team",
            constraint=models.UniqueConstraint(
                condition=models.Q(("deleted_at", None)),
                fields=("organisation", "integration_team_id"),
                name="team_integration_id_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="team",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("deleted_at", None), ("erase_due_at", None), ("erased_at", None)),
                    models.Q(("deleted_at__isnull", False), ("erase_due_at__isnull", False)),
                    _connector="OR",
                ),
                name="management_team_deleted_has_due_date",
            ),
        ),
        migrations.AddField(
            model_name="invite",
            name="organisation",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="invites", to="management.organisation"
            ),
        ),
        migrations.AddField(
            model_name="member",
            name="organisation",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="members", to="management.organisation"
            ),
        ),
        migrations.AddField(
            model_name="organisationrecord",
            name="organisation",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="management.organisation"
            ),
        ),
        migrations.AddField(
            model_name="scoperequirement",
            name="team",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="management.team"
            ),
        ),
        migrations.AddField(
            model_name="teamaccesstoken",
            name="management_key",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="management.managementkey"
            ),
        ),
        migrations.AddField(
            model_name="teamaccesstoken",
            name="team",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="management.team"
            ),
        ),
        migrations.AddConstraint(
            model_name="invite",
            constraint=models.UniqueConstraint(fields=("organisation", "email"), name="management_invite_once"),
        ),
        migrations.AddConstraint(
            model_name="invite",
            constraint=models.CheckConstraint(
                condition=models.Q(("role__in", ["org_admin", "team_admin", "no_role"])),
                name="management_invite_role_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="invite",
            constraint=models.CheckConstraint(
                condition=models.Q(("role", "team_admin"), ("team_ids", []), _connector="OR"),
                name="management_invite_others_unbound",
            ),
        ),
        migrations.AddConstraint(
            model_name="member",
            constraint=models.UniqueConstraint(fields=("organisation", "email"), name="management_member_once"),
        ),
        migrations.AddConstraint(
            model_name="member",
            constraint=models.CheckConstraint(
                condition=models.Q(("role__in", ["org_admin", "team_admin", "no_role"])),
                name="management_member_role_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="member",
            constraint=models.CheckConstraint(
                condition=models.Q(("role", "team_admin"), ("team_ids", []), _connector="OR"),
                name="management_member_others_unbound",
            ),
        ),
        migrations.AddIndex(
            model_name="organisationrecord",
            index=models.Index(fields=["organisation", "-id"], name="organisation_record_newest"),
        ),
        migrations.AddConstraint(
            model_name="scoperequirement",
            constraint=models.UniqueConstraint(
                fields=("team", "environment", "provider"), name="scope_requirement_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="scoperequirement",
            constraint=models.CheckConstraint(
                condition=models.Q(("environment__in", ["sandbox", "production"])),
                name="management_scope_requirement_environment_known",
            ),
        ),
        migrations.AddIndex(
            model_name="teamaccesstoken",
            index=models.Index(fields=["expires_at"], name="team_access_token_expiry"),
        ),
        migrations.AddConstraint(
            model_name="teamaccesstoken",
            constraint=models.CheckConstraint(
                condition=models.Q(("environment__in", ["sandbox", "production"])),
                name="management_team_access_token_environment_known",
            ),
        ),
        team_row_security("management_scope_requirement", system=[SystemScope.STAFF]),
        team_row_security("management_team_access_token", system=[SystemScope.KEY_LOOKUP]),
        migrations.RunSQL(sql=list(APPEND_ONLY), reverse_sql=list(CHANGEABLE)),
    ]
