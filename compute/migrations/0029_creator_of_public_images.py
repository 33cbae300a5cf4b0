from django.db import migrations


def name_creator(apps, schema_editor):
    """Set the creator that the seed stores from now on. Filters on `created_by` read the column."""
    apps.get_model("compute", "Image").objects.filter(is_public=True).update(created_by="compute")


class Migration(migrations.Migration):
    """Clients see ``compute`` as the creator of public images."""

    dependencies = [("compute", "0028_jobs_wait_for_hosts")]

    operations = [migrations.RunPython(name_creator, migrations.RunPython.noop, elidable=True)]
