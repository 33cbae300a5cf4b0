from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_encrypted")]

    operations = [
        migrations.AddField("message", "lease_until", models.DateTimeField(null=True)),
        migrations.AddField("message", "fence", models.PositiveIntegerField(db_default=0)),
    ]
