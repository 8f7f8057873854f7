from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("management", "0007_kept_replies_of_a_user"),
    ]

    operations = [
        migrations.AddField(
            model_name="managementkey",
            name="rotated_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="teamkey",
            name="rotated_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
    ]
