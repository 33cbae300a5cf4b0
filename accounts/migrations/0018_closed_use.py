# A migration of its own: a transaction that locks both tables could meet a request that locks them the other way around.

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0017_closed_accounts'),
    ]

    operations = [
        migrations.AddField(
            model_name='resourceuse',
            name='closed',
            field=models.BooleanField(db_default=False, default=False, help_text='Whether a user has closed the account. It then gets no more resources.'),
        ),
    ]
