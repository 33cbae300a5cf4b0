from decimal import Decimal

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0004_mail_ports")]

    operations = [
        migrations.AddField(
            "account",
            "total_payments",
            models.DecimalField(
                max_digits=12,
                decimal_places=2,
                default=Decimal(0),
                db_default=Decimal(0),
                validators=[django.core.validators.MinValueValidator(0)],
                help_text="All that the account ever paid, in USD. From 25.00 on its users' profiles show referrals.",
            ),
        ),
    ]
