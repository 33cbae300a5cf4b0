from django.db import migrations, models

import config.encryption


class Migration(migrations.Migration):

    dependencies = [
        ("compute", "0015_host_architectures"),
    ]

    operations = [
        migrations.CreateModel(
            name="PlatformKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=32, unique=True)),
                ("public", models.TextField()),
                ("encrypted", config.encryption.EncryptedField(editable=False)),
                ("created", models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.AddField(
            model_name="host",
            name="host_key",
            field=models.TextField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                help_text="The public key by which it proves itself, where it is reached by ssh.",
            ),
        ),
    ]
