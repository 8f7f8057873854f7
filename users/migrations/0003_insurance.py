from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("users", "0002_demographics")]

    operations = []
