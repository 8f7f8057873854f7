from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("users", "0005_exports"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="user",
            index=models.Index(
                condition=models.Q(("deleted_at", None)), fields=["team", "environment"], name="users_user_living"
            ),
        ),
    ]
