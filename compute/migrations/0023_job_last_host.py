import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Jobs of instances that are gone name the host on which they were."""

    dependencies = [("compute", "0022_console_records")]

    operations = [
        migrations.AddField(
            model_name="job",
            name="last_host",
            field=models.ForeignKey(
                db_index=False,
                editable=False,
                help_text="The host of an instance that is gone; null while it is there.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="compute.host",
            ),
        ),
    ]
