import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('compute', '0014_drift'),
    ]

    operations = [
        migrations.AddField(
            model_name='host',
            name='architectures',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=16), blank=True, help_text='Of the kernels that its machines boot. Empty: any, on simulated hosts.', null=True, size=None),
        ),
    ]
