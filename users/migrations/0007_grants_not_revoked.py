from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("users", "0006_users_counted_in_an_index"),
    ]

    operations = [
        migrations.AddField(
            model_name="erasure",
            name="grants_not_revoked",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="erasure",
            name="woken_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="export",
            name="woken_at",
            field=models.DateTimeField(null=True),
        ),
    ]
