from django.db import migrations, models
from django.db.models import Q

CLAIMABLE = "lease_until IS NULL AND ready AND state IN ('active', 'undoing')"
INDEXES = {
    "one_job_per_slot": "(share_host, share_slot) WHERE share_slot IS NOT NULL",
    "job_claimable": f"(account_id, bulk, share_host, run_at) WHERE {CLAIMABLE}",
    "job_unnotified": f"(run_at) WHERE {CLAIMABLE} AND notified_at IS NULL",
    "job_turns": "(account_id, claimed_at) WHERE claimed_at IS NOT NULL",
}


def built(name: str) -> migrations.RunSQL:
    """Build an index while jobs are written. What an earlier try left, if it was cut off, is built anew."""
    unique = "UNIQUE " if name == "one_job_per_slot" else ""
    drop = f"DROP INDEX CONCURRENTLY IF EXISTS {name}"
    create = f"CREATE {unique}INDEX CONCURRENTLY {name} ON compute_job {INDEXES[name]}"
    return migrations.RunSQL((drop, create), drop, elidable=True)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("compute", "0026_fair_claims")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[built(name) for name in INDEXES],
            state_operations=[
                migrations.AddConstraint(
                    model_name="job",
                    constraint=models.UniqueConstraint(
                        fields=("share_host", "share_slot"),
                        condition=Q(share_slot__isnull=False),
                        name="one_job_per_slot",
                    ),
                ),
                migrations.AddIndex(
                    model_name="job",
                    index=models.Index(
                        fields=("account_id", "bulk", "share_host", "run_at"),
                        condition=Q(state__in=["active", "undoing"], ready=True, lease_until__isnull=True),
                        name="job_claimable",
                    ),
                ),
                migrations.AddIndex(
                    model_name="job",
                    index=models.Index(
                        fields=("run_at",),
                        condition=Q(state__in=["active", "undoing"], ready=True, lease_until__isnull=True)
                        & Q(notified_at__isnull=True),
                        name="job_unnotified",
                    ),
                ),
                migrations.AddIndex(
                    model_name="job",
                    index=models.Index(
                        fields=("account_id", "claimed_at"),
                        condition=Q(claimed_at__isnull=False),
                        name="job_turns",
                    ),
                ),
            ],
        ),
    ]
