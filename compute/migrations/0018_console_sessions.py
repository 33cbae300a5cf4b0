import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("compute", "0017_host_underlay"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ConsoleSession",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("staff", models.BooleanField(default=False, help_text="Whether they were there as staff.")),
                ("reason", models.TextField(blank=True, help_text="What staff were there for.")),
                ("ip", models.GenericIPAddressField(help_text="The browser's address.", null=True)),
                ("ticket", models.CharField(editable=False, max_length=64, null=True, unique=True)),
                (
                    "origin",
                    models.CharField(
                        editable=False, help_text="The site whose page may use the ticket.", max_length=300
                    ),
                ),
                (
                    "browser",
                    models.CharField(editable=False, help_text="The sign-in, by a hash of its id.", max_length=64),
                ),
                (
                    "device",
                    models.BigIntegerField(
                        editable=False, help_text="The remembered browser, where it is one.", null=True
                    ),
                ),
                (
                    "credentials",
                    models.CharField(
                        editable=False, help_text="A hash that a new password changes.", max_length=64
                    ),
                ),
                (
                    "by_key",
                    models.BooleanField(
                        default=False, editable=False, help_text="Whether a security key signed them in."
                    ),
                ),
                ("created", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("opened", models.DateTimeField(help_text="When the browser came with the ticket.", null=True)),
                ("seen", models.DateTimeField(editable=False, null=True)),
                ("ended", models.DateTimeField(null=True)),
                (
                    "to_end",
                    models.TextField(
                        blank=True, db_default="", default="", editable=False, help_text="Why it has to end."
                    ),
                ),
                ("outcome", models.TextField(blank=True, db_default="", default="", help_text="Why it ended.")),
                (
                    "instance",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="console_sessions",
                        to="compute.instance",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="console_sessions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("-id",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("ended", None)), fields=["user"], name="open_console_sessions"
                    ),
                    models.Index(fields=["created"], name="console_sessions_by_age"),
                ],
            },
        ),
    ]
