from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("compute", "0005_nodebalancer_tables")]

    operations = [
        migrations.RemoveConstraint("job", "job_secrets_end_with_it"),
        migrations.RemoveConstraint("nodebalancerconfig", "https_has_a_certificate"),
        migrations.RenameField("job", "sealed", "encrypted"),
        migrations.RenameField("nodebalancerconfig", "sealed", "encrypted"),
        migrations.AddConstraint(
            "job",
            models.CheckConstraint(
                condition=Q(finished_at__isnull=True) | Q(encrypted__isnull=True), name="job_secrets_end_with_it"
            ),
        ),
        migrations.AddConstraint(
            "nodebalancerconfig",
            models.CheckConstraint(
                condition=Q(protocol="https", encrypted__isnull=False, ssl_cert__isnull=False)
                | Q(~Q(protocol="https"), encrypted__isnull=True, ssl_cert__isnull=True),
                name="https_has_a_certificate",
            ),
        ),
    ]
