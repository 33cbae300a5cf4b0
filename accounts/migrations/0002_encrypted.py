from django.db import migrations

import config.encryption


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]

    operations = [
        migrations.RenameField("message", "sealed", "encrypted"),
        migrations.RenameField("phoneverification", "sealed", "encrypted"),
        migrations.RenameField("secondfactor", "sealed", "encrypted"),
    ]
