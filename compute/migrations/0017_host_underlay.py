from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("compute", "0016_hosts_by_ssh"),
    ]

    operations = [
        migrations.AddField(
            model_name="host",
            name="underlay",
            field=models.GenericIPAddressField(
                blank=True,
                help_text="Its IPv4 address between the hosts of the region. "
                "Empty: private network and VLANs end at it.",
                null=True,
                protocol="IPv4",
            ),
        ),
    ]
