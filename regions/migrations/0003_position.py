from django.db import migrations, models

CATALOGUE = """
    ap-west ca-central ap-southeast us-central us-west us-southeast us-east eu-west ap-south eu-central ap-northeast
"""
"""The order of the catalogue when this was written: later releases may have another one."""


def order(apps, schema_editor):
    Region = apps.get_model("regions", "Region")
    for number, key in enumerate(CATALOGUE.split(), 1):
        Region.objects.filter(pk=key).update(position=number * 10)


class Migration(migrations.Migration):
    dependencies = [("regions", "0002_retired")]

    operations = [
        migrations.AddField(
            model_name="region",
            name="position",
            field=models.PositiveSmallIntegerField(
                db_default=1000,
                default=1000,
                help_text="Its place in lists: the smallest comes first. The catalogue has 10, 20, 30 …",
            ),
        ),
        migrations.RunPython(order, migrations.RunPython.noop, elidable=True),
    ]
