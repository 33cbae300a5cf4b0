import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_message_lease"), ("compute", "0011_label_free_while_deleting")]

    operations = [
        migrations.CreateModel(
            name="RangeShare",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "instance",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="range_shares",
                        to="compute.instance",
                    ),
                ),
                (
                    "range",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="shares", to="compute.ipv6range"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("range", "instance"), name="one_range_share")]
            },
        ),
        # what follows is of the models alone: reasons and help texts
        migrations.AlterField(
            model_name="job",
            name="volume",
            field=models.ForeignKey(
                help_text="The volume that is worked on; null once it is gone, and while the job waits for its turn.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="jobs",
                to="compute.volume",
            ),
        ),
        migrations.AlterConstraint(
            model_name="firewall",
            name="firewall_label",
            constraint=models.UniqueConstraint(
                fields=("account", "label"),
                name="firewall_label",
                violation_error_code="label",
                violation_error_message="Label must be unique among your Cloud Firewalls",
            ),
        ),
        migrations.AlterConstraint(
            model_name="job",
            name="one_live_volume_job",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state__in", ["active", "undoing"])),
                fields=("volume",),
                name="one_live_volume_job",
                violation_error_message="Compute busy.",
            ),
        ),
    ]
