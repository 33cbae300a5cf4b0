from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("compute", "0004_notified_at")]

    operations = [
        migrations.RenameModel("BalancerMeter", "NodeBalancerMeter"),
        migrations.RenameModel("BalancerSample", "NodeBalancerSample"),
        migrations.RenameModel("BalancerTransfer", "NodeBalancerTransfer"),
    ]
