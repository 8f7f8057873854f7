import django.db.models.deletion
from django.db import migrations, models

import healthsvc.kernel.ids
from healthsvc.kernel.row_security import team_row_security
from healthsvc.kernel.scope import SystemScope


class Migration(migrations.Migration):
    dependencies = [
        ("management", "0001_tenants_keys_staff"),
        ("users", "0003_insurance"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="user",
            index=models.Index(
                condition=models.Q(("deleted_at__isnull", False)),
                fields=["team", "environment", "client_user_id"],
                name="users_user_deleted",
            ),
        ),
        migrations.CreateModel(
            name="Erasure",
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
                ("user_id", models.UUIDField(null=True)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "pending"),
                            ("undone", "undone"),
                            ("erasing", "erasing"),
                            ("erased", "erased"),
                        ],
                        default="pending",
                        max_length=10,
                    ),
                ),
                ("requested_at", models.DateTimeField()),
                ("due_at", models.DateTimeField()),
                ("undone_at", models.DateTimeField(null=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("erased_at", models.DateTimeField(null=True)),
                ("claim", models.PositiveIntegerField(default=0)),
                ("lease_until", models.DateTimeField(null=True)),
                ("not_before", models.DateTimeField()),
                ("failures", models.PositiveIntegerField(default=0)),
                ("error_code", models.CharField(blank=True, default="", max_length=60)),
                ("rows_erased", models.JSONField(default=dict)),
                ("receipt", models.TextField(blank=True, default="")),
                ("receipt_signature", models.BinaryField(max_length=64, null=True)),
                ("receipt_public_key", models.BinaryField(max_length=32, null=True)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="management.team"
                    ),
                ),
            ],
            options={
                "db_table": "users_erasure",
                "indexes": [
                    models.Index(
                        condition=models.Q(("status__in", ["erasing", "pending"])),
                        fields=["not_before"],
                        name="users_erasure_due",
                    ),
                    models.Index(
                        condition=models.Q(("user_id__isnull", False)), fields=["user_id"], name="users_erasure_of_user"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("status__in", ["erasing", "pending"])),
                        fields=("team", "environment", "user_id"),
                        name="users_erasure_open_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status__in", ["erasing", "pending"]), _negated=True),
                            ("user_id__isnull", False),
                            _connector="OR",
                        ),
                        name="users_erasure_open_has_user",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "erased"), _negated=True),
                            models.Q(
                                ("erased_at__isnull", False),
                                ("receipt_public_key__isnull", False),
                                ("receipt_signature__isnull", False),
                                ("user_id", None),
                            ),
                            _connector="OR",
                        ),
                        name="users_erasure_receipt_kept",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["pending", "undone", "erasing", "erased"])),
                        name="users_erasure_status_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("environment__in", ["sandbox", "production"])),
                        name="users_erasure_environment_known",
                    ),
                ],
            },
        ),
        team_row_security("users_erasure", system=[SystemScope.STAFF]),
    ]
