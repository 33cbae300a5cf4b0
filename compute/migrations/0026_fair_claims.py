from django.db import migrations, models

INTERACTIVE = (
    "'boot', 'reboot', 'rescue', 'shutdown', 'host_stop', 'redefine', 'delete', 'disk_delete', 'password_reset',"
    " 'volume_attach', 'volume_detach'"
)
# Live jobs of the release before are claimed as fairly as new ones.
FILL = (
    "UPDATE compute_job SET account_id = accounts_event.account_id FROM accounts_event"
    " WHERE accounts_event.id = compute_job.event_id AND compute_job.finished_at IS NULL",
    "UPDATE compute_job SET share_host = compute_instance.host_id FROM compute_instance"
    " WHERE compute_instance.id = compute_job.instance_id AND compute_job.finished_at IS NULL",
    f"UPDATE compute_job SET bulk = false WHERE kind IN ({INTERACTIVE}) AND finished_at IS NULL",  # noqa: S608
)


class Migration(migrations.Migration):
    """Jobs know their account, their host, and when they were last claimed."""

    dependencies = [("compute", "0025_heartbeat_slots")]

    operations = [
        migrations.AddField(
            model_name="job", name="account_id", field=models.BigIntegerField(db_default=0, editable=False)
        ),
        migrations.AddField(
            model_name="job", name="bulk", field=models.BooleanField(db_default=True, editable=False)
        ),
        migrations.AddField(
            model_name="job", name="claimed_at", field=models.DateTimeField(editable=False, null=True)
        ),
        migrations.AddField(
            model_name="job", name="ready", field=models.BooleanField(db_default=True, editable=False)
        ),
        migrations.AddField(
            model_name="job", name="share_host", field=models.BigIntegerField(db_default=0, editable=False)
        ),
        migrations.AddField(
            model_name="job", name="share_slot", field=models.PositiveSmallIntegerField(editable=False, null=True)
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop, elidable=True),
    ]
