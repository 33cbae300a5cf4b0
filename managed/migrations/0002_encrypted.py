from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("managed", "0001_initial")]

    operations = [
        migrations.RenameField("credential", "sealed", "encrypted"),
        migrations.RenameField("keypair", "sealed", "encrypted"),
    ]
