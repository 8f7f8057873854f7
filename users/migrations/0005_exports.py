import django.db.models.deletion
from django.db import migrations, models

import healthsvc.kernel.ids
from healthsvc.kernel.row_security import team_row_security
from healthsvc.kernel.scope import SystemScope


class Migration(migrations.Migration):
    dependencies = [
        ("management", "0001_tenants_keys_staff"),
        ("users", "0004_erasure"),
    ]

    operations = [
        migrations.CreateModel(
            name="Export",
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
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("making", "making"),
                            ("ready", "ready"),
                            ("failed", "failed"),
                            ("cancelled", "cancelled"),
                            ("expired", "expired"),
                        ],
                        default="making",
                        max_length=10,
                    ),
                ),
                ("job_id", models.UUIDField()),
                ("file_id", models.UUIDField(null=True)),
                ("records", models.BigIntegerField(default=0)),
                ("size_bytes", models.BigIntegerField(default=0)),
                ("requested_at", models.DateTimeField()),
                ("ready_at", models.DateTimeField(null=True)),
                ("expires_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("error_code", models.CharField(blank=True, default="", max_length=60)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="management.team"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="users.user"),
                ),
            ],
            options={
                "db_table": "users_export",
                "permissions": [("download_export", "Can download archives of users")],
                "indexes": [
                    models.Index(
                        models.F("team"),
                        models.F("environment"),
                        models.F("user"),
                        models.OrderBy(models.F("id"), descending=True),
                        name="users_export_newest_first",
                    ),
                    models.Index(
                        condition=models.Q(("status", "ready")), fields=["expires_at"], name="users_export_expiry"
                    ),
                    models.Index(
                        condition=models.Q(("ended_at__isnull", False)), fields=["ended_at"], name="users_export_ended"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("status", "making")),
                        fields=("team", "environment", "user"),
                        name="users_export_making_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "ready"), _negated=True),
                            models.Q(
                                ("expires_at__isnull", False), ("file_id__isnull", False), ("ready_at__isnull", False)
                            ),
                            _connector="OR",
                        ),
                        name="users_export_ready_has_file",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status", "ready"), ("file_id", None), _connector="OR"),
                        name="users_export_file_while_ready",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["making", "ready", "failed", "cancelled", "expired"])),
                        name="users_export_status_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("environment__in", ["sandbox", "production"])),
                        name="users_export_environment_known",
                    ),
                ],
            },
        ),
        team_row_security("users_export", system=[SystemScope.STAFF]),
    ]
