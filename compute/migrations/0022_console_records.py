import django.db.models.deletion
from django.apps.registry import Apps
from django.conf import settings
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import F, OuterRef, Subquery

BATCH = 1000


def name_instances_and_users(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Copy ids and names into the records that are there; those of old processes get theirs when they are admitted."""
    sessions = apps.get_model("compute", "ConsoleSession").objects
    instances = apps.get_model("compute", "Instance").objects.filter(pk=OuterRef("instance"))
    users = apps.get_model("accounts", "User").objects.filter(pk=OuterRef("user"))
    while found := list(sessions.filter(username="").values_list("pk", flat=True)[:BATCH]):
        sessions.filter(pk__in=found).update(
            instance_number=F("instance_id"),
            instance_label=Subquery(instances.values("label")[:1]),
            username=Subquery(users.values("username")[:1]),
        )


class Migration(migrations.Migration):
    """Records of consoles outlive their instance and their user."""

    dependencies = [
        ("compute", "0021_step_times"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="consolesession",
            name="instance_number",
            field=models.BigIntegerField(editable=False, help_text="The instance's id, as it was.", null=True),
        ),
        migrations.AddField(
            model_name="consolesession",
            name="instance_label",
            field=models.TextField(db_default="", default="", editable=False, help_text="Its label, as it was."),
        ),
        migrations.AddField(
            model_name="consolesession",
            name="username",
            field=models.CharField(
                db_default="", default="", editable=False, help_text="As it was.", max_length=32
            ),
        ),
        migrations.AlterField(
            model_name="consolesession",
            name="instance",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="console_sessions",
                to="compute.instance",
            ),
        ),
        migrations.AlterField(
            model_name="consolesession",
            name="user",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="console_sessions",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.RunPython(name_instances_and_users, migrations.RunPython.noop, elidable=True),
    ]
