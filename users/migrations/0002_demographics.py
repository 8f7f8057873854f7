import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Collate

import healthsvc.kernel.crypto
import healthsvc.kernel.ids
from healthsvc.kernel.row_security import team_row_security
from healthsvc.kernel.scope import SystemScope


class Migration(migrations.Migration):
    dependencies = [("users", "0001_people")]

    operations = [
        migrations.CreateModel(
            name="Demographics",
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
                ("details", healthsvc.kernel.crypto.EncryptedJSONField()),
                ("created_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
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
                "db_table": "users_demographics",
                "verbose_name_plural": "demographics",
                "constraints": [
                    models.UniqueConstraint(fields=("team", "environment", "user"), name="users_demographics_once"),
                    models.CheckConstraint(
                        condition=models.Q(("environment__in", ["sandbox", "production"])),
                        name="users_demographics_environment_known",
                    ),
                ],
            },
        ),
        team_row_security("users_demographics", system=[SystemScope.STAFF]),
        migrations.AddIndex(
            model_name="user",
            index=models.Index(
                models.F("team"),
                models.F("environment"),
                Collate("client_user_id", "C"),
                condition=models.Q(("deleted_at", None)),
                name="users_user_by_client_user_id",
            ),
        ),
        migrations.AddIndex(
            model_name="user",
            index=models.Index(
                condition=models.Q(("deleted_at", None)),
                fields=["team", "environment", "id"],
                name="users_user_by_id",
            ),
        ),
    ]
