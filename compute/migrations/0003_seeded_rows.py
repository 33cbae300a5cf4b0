import ipaddress

from django.db import migrations, models

# What `seed` of the release before this table brought in, all of it at each run: of an installation that was seeded
# then, what is not there any more was deleted by staff. Not read from the catalogue, which later releases add to.
SEEDED = {
    "region": """
        ap-west ca-central ap-southeast us-central us-west us-southeast us-east eu-west ap-south eu-central
        ap-northeast
    """,
    "type": """
        g6-nanode-1 g6-standard-1 g6-standard-2 g6-standard-4 g6-standard-6 g6-standard-8 g6-standard-16
        g6-standard-20 g6-standard-24 g6-standard-32 g7-highmem-1 g7-highmem-2 g7-highmem-4 g7-highmem-8
        g7-highmem-16 g6-dedicated-2 g6-dedicated-4 g6-dedicated-8 g6-dedicated-16 g6-dedicated-32
        g6-dedicated-48 g6-dedicated-50 g6-dedicated-56 g6-dedicated-64 g1-gpu-rtx6000-1 g1-gpu-rtx6000-2
        g1-gpu-rtx6000-3 g1-gpu-rtx6000-4 g1-metal-b1 g1-metal-b2 g1-metal-c1 g1-metal-c2 g5-nanode-1
        g5-standard-1 g5-standard-2 g5-standard-4 g5-standard-6
    """,
    "kernel": """
        compute/latest-2.6-32bit compute/latest-2.6 compute/latest-32bit compute/latest-2.6-64bit
        compute/latest-64bit compute/grub2 compute/direct-disk compute/grub-legacy compute/pv-grub_x86_32
        compute/pv-grub_x86_64 compute/5.19.2-x86_64-compute156 compute/5.19.2-x86-compute176
        compute/5.18.2-x86_64-compute155 compute/5.18.2-x86-compute175 compute/5.17.5-x86_64-compute154
        compute/5.17.5-x86-compute174 compute/5.16.13-x86-compute173 compute/5.16.13-x86_64-compute153
        compute/5.16.3-x86_64-compute152 compute/5.16.3-x86-compute172 compute/5.15.10-x86_64-compute151
        compute/5.15.10-x86-compute171 compute/5.14.17-x86_64-compute150 compute/5.14.17-x86-compute170
        compute/5.14.15-x86_64-compute149 compute/5.14.15-x86-compute169 compute/5.14.14-x86_64-compute148
        compute/5.14.14-x86-compute168 compute/5.14.2-x86_64-compute147 compute/5.14.2-x86-compute167
        compute/5.13.4-x86_64-compute146 compute/5.13.4-x86-compute166 compute/5.12.13-x86_64-compute145
        compute/5.12.13-x86-compute165 compute/5.12.2-x86_64-compute144 compute/5.12.2-x86-compute164
        compute/5.11.13-x86_64-compute143 compute/5.11.13-x86-compute163 compute/5.11.9-x86_64-compute142
        compute/5.11.9-x86-compute162
    """,
    "image": """
        compute/almalinux8 compute/almalinux9 compute/alpine3.12 compute/alpine3.13 compute/alpine3.14
        compute/alpine3.15 compute/alpine3.16 compute/arch compute/centos7 compute/centos-stream8
        compute/centos-stream9 compute/debian10 compute/debian11 compute/debian9 compute/fedora34
        compute/fedora35 compute/fedora36 compute/gentoo compute/kali compute/debian11-kube-v1.20.15
        compute/debian9-kube-v1.20.7 compute/debian9-kube-v1.21.1 compute/debian11-kube-v1.21.12
        compute/debian9-kube-v1.22.2 compute/debian11-kube-v1.22.9 compute/debian11-kube-v1.23.6
        compute/opensuse15.3 compute/opensuse15.4 compute/rocky8 compute/rocky9 compute/slackware14.2
        compute/slackware15.0 compute/ubuntu16.04lts compute/ubuntu18.04 compute/ubuntu20.04
        compute/ubuntu22.04 compute/centos8 compute/slackware14.1 compute/ubuntu21.04 compute/ubuntu21.10
    """,
}


def networks(count):
    """The pools of so many regions."""
    nth = lambda network, prefix: list(
        each for _, each in zip(range(count), ipaddress.ip_network(network).subnets(new_prefix=prefix))
    )
    yield from nth("198.18.0.0/15", 20)
    yield from nth("10.0.0.0/8", 20)
    yield from nth("2001:db8:1000::/36", 64)
    yield from nth("2001:db8:2000::/36", 44)
    yield from (ipaddress.ip_network("192.0.2.0/24"), ipaddress.ip_network("203.0.113.0/24"))


def remember(apps, schema_editor):
    """Note what an earlier release seeded. Its rows may be renamed or gone: any one of its types tells."""
    types = SEEDED["type"].split()
    if not apps.get_model("compute", "InstanceType").objects.filter(pk__in=types).exists():
        return
    keys = {kind: ids.split() for kind, ids in SEEDED.items()}
    keys["host"] = [f"{region}-h{number}" for region in keys["region"] for number in (1, 2)]
    keys["pool"] = [str(network) for network in networks(len(keys["region"]))]
    SeededRow = apps.get_model("compute", "SeededRow")
    SeededRow.objects.bulk_create(SeededRow(kind=kind, key=key) for kind, all_ in keys.items() for key in all_)


class Migration(migrations.Migration):

    dependencies = [
        ('compute', '0002_unreachable_hosts_and_heartbeats'),
    ]

    operations = [
        migrations.CreateModel(
            name='SeededRow',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('region', 'Region'), ('type', 'Type'), ('kernel', 'Kernel'), ('image', 'Image'), ('host', 'Host'), ('pool', 'Pool')], max_length=8)),
                ('key', models.CharField(help_text="The row's id, a host's label, or a pool's network.", max_length=64)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('kind', 'key'), name='seeded_row')],
            },
        ),
        migrations.RunPython(remember, migrations.RunPython.noop, elidable=True),
    ]
