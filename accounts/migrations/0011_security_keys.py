import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("accounts", "0009_quotas")]

    operations = [
        migrations.CreateModel(
            name="SecurityKey",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("name", models.CharField(max_length=64)),
                (
                    "credential",
                    models.BinaryField(unique=True, help_text="The id that the key gave itself for this site."),
                ),
                ("public_key", models.BinaryField(help_text="As COSE has it.")),
                ("sign_count", models.BigIntegerField(db_default=0)),
                ("created", models.DateTimeField(db_default=Now())),
                ("last_used", models.DateTimeField(null=True, blank=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="security_keys",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"ordering": ("id",)},
        ),
    ]
