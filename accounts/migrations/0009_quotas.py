from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0008_pictures")]

    operations = [
        migrations.AddField(
            "account",
            "quotas",
            models.JSONField(
                default=dict,
                db_default={},
                blank=True,
                editable=False,
                help_text="Quotas of this account that differ from the settings, by name.",
            ),
        ),
    ]
