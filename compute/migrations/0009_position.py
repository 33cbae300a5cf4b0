from importlib import import_module

from django.db import migrations, models

# What the first catalogue has, in its order. Frozen as all migrations are, unlike the catalogue itself.
SEEDED = import_module("compute.migrations.0003_seeded_rows").SEEDED
MODELS = {"type": "InstanceType", "kernel": "Kernel", "image": "Image"}


def position():
    return models.PositiveSmallIntegerField(
        db_default=1000,
        default=1000,
        help_text="Its place in lists: the smallest comes first. The catalogue has 10, 20, 30 …",
    )


def order(apps, schema_editor):
    for kind, name in MODELS.items():
        rows = apps.get_model("compute", name).objects
        for number, key in enumerate(SEEDED[kind].split(), 1):
            rows.filter(pk=key).update(position=number * 10)


class Migration(migrations.Migration):
    dependencies = [("compute", "0008_mail_ports")]

    operations = [
        *(migrations.AddField(name.lower(), "position", position()) for name in MODELS.values()),
        migrations.RunPython(order, migrations.RunPython.noop, elidable=True),
    ]
