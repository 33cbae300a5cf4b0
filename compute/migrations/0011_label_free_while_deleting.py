from django.db import migrations, models
from django.db.models import Q

# The new index is built beside the old one, while instances are created. It then takes the name of the old one, by
# which code of the release before knows that a label is taken.
SWAP = (
    "DROP INDEX CONCURRENTLY IF EXISTS instance_label_alive",  # what an earlier try left, if it was cut off
    "CREATE UNIQUE INDEX CONCURRENTLY instance_label_alive ON compute_instance (account_id, label)"
    " WHERE NOT (status = 'deleting')",
    "ALTER TABLE compute_instance DROP CONSTRAINT IF EXISTS instance_label",
    "ALTER INDEX instance_label_alive RENAME TO instance_label",
)
SWAP_BACK = (
    "ALTER INDEX instance_label RENAME TO instance_label_alive",
    "ALTER TABLE compute_instance ADD CONSTRAINT instance_label UNIQUE (account_id, label)",
    "DROP INDEX instance_label_alive",
)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("compute", "0010_scripts_of_nobody")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(SWAP, SWAP_BACK, elidable=True)],
            state_operations=[
                migrations.RemoveConstraint(model_name="instance", name="instance_label"),
                migrations.AddConstraint(
                    model_name="instance",
                    constraint=models.UniqueConstraint(
                        fields=("account", "label"),
                        condition=~Q(status="deleting"),
                        name="instance_label",
                        violation_error_code="label",
                        violation_error_message="Label must be unique among your computes",
                    ),
                ),
            ],
        ),
    ]
