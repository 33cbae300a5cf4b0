from django.db import migrations, models
from django.db.models import Q

# Built while jobs are written. What an earlier try left, if it was cut off, is built anew.
CREATE = (
    "DROP INDEX CONCURRENTLY IF EXISTS job_last_host",
    "CREATE INDEX CONCURRENTLY job_last_host ON compute_job (last_host_id) WHERE last_host_id IS NOT NULL",
)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("compute", "0023_job_last_host")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(CREATE, "DROP INDEX CONCURRENTLY job_last_host", elidable=True)
            ],
            state_operations=[
                migrations.AddIndex(
                    model_name="job",
                    index=models.Index(
                        fields=("last_host",), condition=Q(last_host__isnull=False), name="job_last_host"
                    ),
                ),
            ],
        ),
    ]
