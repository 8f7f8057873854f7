from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("management", "0003_webhook_preferences")]

    operations = []
