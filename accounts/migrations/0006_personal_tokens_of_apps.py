import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0005_total_payments")]

    operations = [
        migrations.AddField(
            "personaltoken",
            "client",
            models.ForeignKey(
                settings.OAUTH2_PROVIDER_APPLICATION_MODEL,
                null=True,
                blank=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                db_index=False,
                help_text="The app whose token made it. Empty: the user's own.",
            ),
        ),
    ]
