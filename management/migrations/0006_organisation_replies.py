import django.db.models.deletion
from django.db import migrations, models

import healthsvc.kernel.crypto
import healthsvc.kernel.ids


class Migration(migrations.Migration):
    dependencies = [
        ("management", "0005_audit_partitions"),
    ]

    operations = [
        migrations.CreateModel(
            name="OrganisationReply",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=healthsvc.kernel.ids.uuid_ordered, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("key_hash", models.BinaryField(max_length=32)),
                ("request_hash", models.BinaryField(max_length=32)),
                (
                    "state",
                    models.CharField(
                        choices=[("running", "Running"), ("answered", "Answered")], default="running", max_length=10
                    ),
                ),
                ("status_code", models.PositiveSmallIntegerField(null=True)),
                ("reply", healthsvc.kernel.crypto.EncryptedJSONField(null=True)),
                ("started_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                (
                    "organisation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="management.organisation"
                    ),
                ),
            ],
            options={
                "db_table": "management_organisation_reply",
                "indexes": [models.Index(fields=["expires_at"], name="organisation_reply_expiry")],
                "constraints": [
                    models.UniqueConstraint(fields=("organisation", "key_hash"), name="organisation_reply_once"),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["running", "answered"])),
                        name="management_organisation_reply_state_known",
                    ),
                ],
            },
        ),
    ]
