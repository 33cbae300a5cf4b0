import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_message_lease"), ("compute", "0009_position")]

    operations = [
        migrations.AlterField(
            model_name="stackscript",
            name="account",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="stackscripts",
                to="accounts.account",
            ),
        ),
        migrations.AlterField(
            model_name="seededrow",
            name="kind",
            field=models.CharField(
                choices=[
                    ("region", "Region"),
                    ("type", "Type"),
                    ("kernel", "Kernel"),
                    ("image", "Image"),
                    ("script", "Script"),
                    ("host", "Host"),
                    ("pool", "Pool"),
                ],
                max_length=8,
            ),
        ),
    ]
