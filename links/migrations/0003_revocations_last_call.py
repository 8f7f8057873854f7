from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("links", "0002_ways_in"),
    ]

    operations = [
        migrations.AddField(
            model_name="revocation",
            name="give_up_at",
            field=models.DateTimeField(null=True),
        ),
    ]
