from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('compute', '0030_usage'),
    ]

    operations = [
        # state only: the column has no constraint on its values
        migrations.AlterField(
            model_name='seededrow',
            name='kind',
            field=models.CharField(choices=[('region', 'Region'), ('type', 'Type'), ('kernel', 'Kernel'), ('image', 'Image'), ('script', 'Script'), ('host', 'Host'), ('pool', 'Pool'), ('price', 'Price'), ('level', 'Level')], max_length=8),
        ),
    ]
