import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("accounts", "0007_ends_of_authorizations")]

    operations = [
        migrations.CreateModel(
            name="Picture",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("content", models.BinaryField(help_text="The file as it was sent. Only its header was read.")),
                ("attempt", models.PositiveSmallIntegerField(db_default=0)),
                ("run_at", models.DateTimeField(db_default=Now())),
                ("lease_until", models.DateTimeField(null=True)),
                ("fence", models.PositiveIntegerField(db_default=0)),
                (
                    "client",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="undrawn",
                        to=settings.OAUTH2_PROVIDER_APPLICATION_MODEL,
                    ),
                ),
            ],
            options={"ordering": ("id",)},
        ),
    ]
