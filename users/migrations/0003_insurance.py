import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

import healthsvc.kernel.crypto
import healthsvc.kernel.ids
from healthsvc.kernel.row_security import team_row_security
from healthsvc.kernel.scope import SystemScope
from users.services.diagnoses import CodeSetTables, code_set_load


def load(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    names = ("Diagnosis", "DiagnosisExclusion", "DiagnosisRelease")
    diagnosis, exclusion, release = (apps.get_model("users", name) for name in names)
    code_set_load(tables=CodeSetTables(diagnosis, exclusion, release, schema_editor.connection.alias))


class Migration(migrations.Migration):
    dependencies = [("users", "0002_demographics")]

    operations = [
        migrations.CreateModel(
            name="Insurance",
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
                ("is_primary", models.BooleanField()),
                ("details", healthsvc.kernel.crypto.EncryptedJSONField()),
                ("created_at", models.DateTimeField()),
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
                "db_table": "users_insurance",
                "indexes": [
                    models.Index(
                        models.F("team"),
                        models.F("environment"),
                        models.F("user"),
                        models.F("is_primary"),
                        models.OrderBy(models.F("created_at"), descending=True),
                        models.OrderBy(models.F("id"), descending=True),
                        name="users_insurance_newest_first",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("environment__in", ["sandbox", "production"])),
                        name="users_insurance_environment_known",
                    )
                ],
            },
        ),
        team_row_security("users_insurance", system=[SystemScope.STAFF]),
        migrations.CreateModel(
            name="Payor",
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
                ("code", models.CharField(max_length=20)),
                ("name", models.CharField(max_length=150)),
                ("address", models.JSONField()),
                (
                    "provider",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("change_healthcare", "Change Healthcare"),
                            ("availity", "Availity"),
                            ("stedi", "Stedi"),
                            ("waystar", "Waystar"),
                            ("claim_md", "Claim Md"),
                            ("apero", "Apero"),
                            ("pverify", "Pverify"),
                        ],
                        default="",
                        max_length=20,
                    ),
                ),
                ("provider_payor_id", models.CharField(blank=True, default="", max_length=150)),
                ("created_at", models.DateTimeField()),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="management.team"
                    ),
                ),
            ],
            options={
                "db_table": "users_payor",
                "indexes": [
                    models.Index(
                        fields=["team", "environment", "provider_payor_id"], name="users_payor_by_provider_id"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("team", "environment", "code"), name="users_payor_code_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "provider__in",
                                [
                                    "",
                                    "change_healthcare",
                                    "availity",
                                    "stedi",
                                    "waystar",
                                    "claim_md",
                                    "apero",
                                    "pverify",
                                ],
                            )
                        ),
                        name="users_payor_provider_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("provider", ""), ("provider_payor_id", "")),
                            models.Q(
                                models.Q(("provider", ""), _negated=True),
                                models.Q(("provider_payor_id", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="users_payor_provider_with_id",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("environment__in", ["sandbox", "production"])),
                        name="users_payor_environment_known",
                    ),
                ],
            },
        ),
        team_row_security("users_payor", system=[SystemScope.STAFF]),
        migrations.CreateModel(
            name="PayorWord",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "sandbox"), ("production", "production")], max_length=10),
                ),
                ("word", models.CharField(db_collation="C", max_length=100)),
                (
                    "payor",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="words", to="users.payor"
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="management.team",
                    ),
                ),
            ],
            options={
                "db_table": "users_payor_word",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("team", "environment", "word", "payor"), name="users_payor_word_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("environment__in", ["sandbox", "production"])),
                        name="users_payor_word_environment_known",
                    ),
                ],
            },
        ),
        team_row_security("users_payor_word", system=[SystemScope.STAFF]),
        migrations.CreateModel(
            name="Diagnosis",
            fields=[
                ("code", models.CharField(db_collation="C", max_length=7, primary_key=True, serialize=False)),
                ("description", models.CharField(max_length=300)),
                ("is_billable", models.BooleanField()),
                ("chapter", models.CharField(max_length=2)),
                ("block", models.CharField(max_length=7)),
                ("search_words", models.TextField()),
                ("included_words", models.TextField()),
            ],
            options={"db_table": "users_diagnosis", "verbose_name_plural": "diagnoses"},
        ),
        migrations.CreateModel(
            name="DiagnosisExclusion",
            fields=[
                ("id", models.AutoField(primary_key=True, serialize=False)),
                ("scope", models.CharField(db_collation="C", max_length=7)),
                ("kind", models.SmallIntegerField()),
                ("first", models.CharField(max_length=7)),
                ("last", models.CharField(max_length=7)),
                ("pattern", models.CharField(blank=True, max_length=100)),
            ],
            options={
                "db_table": "users_diagnosis_exclusion",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", [1, 2])), name="users_diagnosis_exclusion_kind_known"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="DiagnosisRelease",
            fields=[
                ("release", models.CharField(max_length=100, primary_key=True, serialize=False)),
                ("loaded_at", models.DateTimeField()),
            ],
            options={"db_table": "users_diagnosis_release"},
        ),
        migrations.RunPython(load, migrations.RunPython.noop),
        # After the rows: an index is made faster from them than with each.
        migrations.AddIndex(
            model_name="diagnosis",
            index=django.contrib.postgres.indexes.GinIndex(
                django.contrib.postgres.search.SearchVector("search_words", "included_words", config="simple"),
                condition=models.Q(("is_billable", True)),
                name="users_diagnosis_words",
            ),
        ),
        migrations.AddIndex(
            model_name="diagnosisexclusion",
            index=models.Index(fields=["scope"], name="users_diagnosis_exclusion_at"),
        ),
        migrations.RunSQL("ANALYZE users_diagnosis, users_diagnosis_exclusion", migrations.RunSQL.noop),
        # What empties the tables of the applications leaves these.
        migrations.AlterModelOptions(name="diagnosis", options={"verbose_name_plural": "diagnoses", "managed": False}),
        migrations.AlterModelOptions(name="diagnosisexclusion", options={"managed": False}),
        migrations.AlterModelOptions(name="diagnosisrelease", options={"managed": False}),
    ]
