from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0011_security_keys")]

    operations = [
        migrations.AddField(
            "user",
            "logged_out",
            models.PositiveIntegerField(
                default=0, db_default=0, editable=False, help_text="How often staff ended all of its sessions."
            ),
        ),
    ]
