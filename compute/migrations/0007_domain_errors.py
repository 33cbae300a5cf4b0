from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("compute", "0006_encrypted")]

    operations = [
        migrations.AddField(
            model_name="domain",
            name="errors",
            field=models.TextField(blank=True, db_default="", default=""),
        ),
        migrations.AddField(
            model_name="domain",
            name="spelling",
            field=models.CharField(blank=True, db_default="", default="", max_length=255),
        ),
    ]
