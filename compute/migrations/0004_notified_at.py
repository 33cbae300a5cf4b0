from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("compute", "0003_seeded_rows")]

    operations = [
        migrations.RenameField("job", "rung_at", "notified_at"),
        migrations.RenameField("packetfilter", "rung_at", "notified_at"),
    ]
