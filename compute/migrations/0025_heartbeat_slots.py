from django.db import migrations, models


class Migration(migrations.Migration):
    """Workers of the release before write no slots: their rows have 0."""

    dependencies = [("compute", "0024_job_last_host_index")]

    operations = [
        migrations.AddField(
            model_name="heartbeat",
            name="slots",
            field=models.PositiveIntegerField(
                default=0,
                db_default=0,
                help_text="Tasks that a worker runs at the same time, one in each process of its pool.",
            ),
        ),
    ]
