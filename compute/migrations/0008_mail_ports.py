from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("compute", "0007_domain_errors"), ("accounts", "0004_mail_ports")]

    operations = [
        migrations.AddField("packetfilter", "mail_ports_closed", models.BooleanField(db_default=False)),
    ]
