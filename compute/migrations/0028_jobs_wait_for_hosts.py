import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    """Jobs name the host that they wait for, and each host has a lease for its probe."""

    dependencies = [("compute", "0027_fair_claims_indexes")]

    operations = [
        migrations.AddField(
            model_name="host",
            name="probe_at",
            field=models.DateTimeField(
                db_default=Now(), editable=False, help_text="When the watchdog asks it next."
            ),
        ),
        migrations.AddField(
            model_name="host",
            name="probe_lease",
            field=models.DateTimeField(
                blank=True,
                editable=False,
                help_text="Until when a worker that asks it now keeps others from it.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="job",
            name="waits_for",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                editable=False,
                help_text="The host that has to answer before the job goes on; it may have been removed.",
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="compute.host",
            ),
        ),
    ]
