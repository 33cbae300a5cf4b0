from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0014_resource_quotas'),
    ]

    operations = [
        # accounts of earlier releases have no limits; later ones begin as new
        migrations.AddField(
            model_name='account',
            name='trust_level',
            field=models.SlugField(db_default='unlimited', db_index=False, default='unlimited', max_length=32),
        ),
        migrations.AlterField(
            model_name='account',
            name='trust_level',
            field=models.SlugField(db_default='new', db_index=False, default='new', help_text="Chooses the account's limits of what costs money.", max_length=32),
        ),
    ]
