from django.db import migrations, models
from django.db.models import Q

CLAIMABLE = "lease_until IS NULL AND ready AND state IN ('active', 'undoing')"
NEW = {
    "job_groups": f"(bulk, account_id, share_host, run_at) WHERE {CLAIMABLE}",
    "job_waiting_hosts": f"(share_host) WHERE {CLAIMABLE}",
    "job_last_claim": "(bulk, claimed_at) WHERE claimed_at IS NOT NULL",
}
OLD = {
    "job_claimable": f"(account_id, bulk, share_host, run_at) WHERE {CLAIMABLE}",
    "job_turns": "(account_id, claimed_at) WHERE claimed_at IS NOT NULL",
}


def build(name: str) -> tuple[str, str]:
    """Build an index while jobs are written. What an earlier try left, if it was cut off, is built anew."""
    create = f"CREATE INDEX CONCURRENTLY {name} ON compute_job {(NEW | OLD)[name]}"
    return drop(name), create


def drop(name: str) -> str:
    return f"DROP INDEX CONCURRENTLY IF EXISTS {name}"


class Migration(migrations.Migration):
    """A claim walks the accounts of one urgency in turn. Claims of the release before are slower without its indexes."""

    atomic = False
    dependencies = [("compute", "0028_jobs_wait_for_hosts")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                *(migrations.RunSQL(build(name), drop(name), elidable=True) for name in NEW),
                *(migrations.RunSQL(drop(name), build(name), elidable=True) for name in OLD),
            ],
            state_operations=[
                migrations.AddIndex(
                    model_name="job",
                    index=models.Index(
                        fields=("bulk", "account_id", "share_host", "run_at"),
                        condition=Q(state__in=["active", "undoing"], ready=True, lease_until__isnull=True),
                        name="job_groups",
                    ),
                ),
                migrations.AddIndex(
                    model_name="job",
                    index=models.Index(
                        fields=("share_host",),
                        condition=Q(state__in=["active", "undoing"], ready=True, lease_until__isnull=True),
                        name="job_waiting_hosts",
                    ),
                ),
                migrations.AddIndex(
                    model_name="job",
                    index=models.Index(
                        fields=("bulk", "claimed_at"),
                        condition=Q(claimed_at__isnull=False),
                        name="job_last_claim",
                    ),
                ),
                migrations.RemoveIndex(model_name="job", name="job_claimable"),
                migrations.RemoveIndex(model_name="job", name="job_turns"),
            ],
        ),
    ]
