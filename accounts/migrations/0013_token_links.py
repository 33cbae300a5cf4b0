import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("accounts", "0012_logged_out")]

    operations = [
        migrations.CreateModel(
            name="TokenLink",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("digest", models.CharField(editable=False, max_length=64, unique=True)),
                ("label", models.CharField(help_text="Of the token.", max_length=100)),
                ("scopes", models.TextField(help_text="Of the token: space-separated, or * for all.")),
                (
                    "token_expiry",
                    models.DateTimeField(blank=True, help_text="Empty: the token does not expire.", null=True),
                ),
                (
                    "created_by",
                    models.CharField(blank=True, help_text="A member of staff. Empty: the platform.", max_length=32),
                ),
                ("created", models.DateTimeField(db_default=Now())),
                ("expiry", models.DateTimeField(help_text="When the link itself ends.")),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="token_links",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "link to a token",
                "verbose_name_plural": "links to tokens",
                "ordering": ("id",),
            },
        ),
    ]
