from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_message_lease")]

    operations = [
        migrations.AddField(
            "account",
            "mail_ports_open",
            models.BooleanField(
                null=True,
                editable=False,
                help_text="Whether computes may connect out to mail ports, as staff decided; null: by the account's age.",
            ),
        ),
    ]
