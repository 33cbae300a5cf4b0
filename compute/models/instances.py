"""Instances, their disks and their configuration profiles."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q

from accounts.models import Account, GrantedQuerySet
from compute.models.catalogue import Image, InstanceType, Kernel
from compute.models.hosts import Host
from regions.models import Region

UNSCHEDULED = Q(backups_enabled=True) & (
    Q(backups_day=None) | Q(backups_day="Scheduling") | Q(backups_window=None) | Q(backups_window="Scheduling")
)
"""Instances whose backups have a day or a window that the platform has to choose."""


class InstanceQuerySet(GrantedQuerySet):
    entity_type = "compute"


class Instance(models.Model):
    """A virtual machine of an account.

    `status` changes only through a job: enqueueing sets the status during the job, its last settle the status that
    the driver confirms afterwards. `ipv4` and `tags` repeat other tables' rows for lists and filters; the services
    that write those rows write these columns too, in the same transaction.
    """

    class Status(models.TextChoices):
        RUNNING = "running"
        OFFLINE = "offline"
        BOOTING = "booting"
        REBOOTING = "rebooting"
        SHUTTING_DOWN = "shutting_down"
        PROVISIONING = "provisioning"
        DELETING = "deleting"
        MIGRATING = "migrating"
        REBUILDING = "rebuilding"
        CLONING = "cloning"
        RESTORING = "restoring"
        STOPPED = "stopped"

    SETTLED = (Status.RUNNING, Status.OFFLINE, Status.STOPPED)

    class Day(models.TextChoices):
        SCHEDULING = "Scheduling"
        SUNDAY = "Sunday"
        MONDAY = "Monday"
        TUESDAY = "Tuesday"
        WEDNESDAY = "Wednesday"
        THURSDAY = "Thursday"
        FRIDAY = "Friday"
        SATURDAY = "Saturday"

    class Window(models.TextChoices):
        SCHEDULING = "Scheduling"
        W0 = "W0"
        W2 = "W2"
        W4 = "W4"
        W6 = "W6"
        W8 = "W8"
        W10 = "W10"
        W12 = "W12"
        W14 = "W14"
        W16 = "W16"
        W18 = "W18"
        W20 = "W20"
        W22 = "W22"

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="instances")
    label = models.CharField(max_length=64)
    region = models.ForeignKey(Region, on_delete=models.PROTECT, related_name="instances")
    type = models.ForeignKey(InstanceType, on_delete=models.PROTECT, related_name="instances")
    image = models.ForeignKey(
        Image, null=True, blank=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    host = models.ForeignKey(Host, on_delete=models.PROTECT, related_name="instances")
    status = models.CharField(max_length=16, choices=Status, default=Status.PROVISIONING)
    group = models.CharField(max_length=50, blank=True)
    tags = ArrayField(models.CharField(max_length=50), default=list, blank=True)
    ipv4 = ArrayField(models.CharField(max_length=15), default=list, blank=True)
    ipv6 = models.CharField(max_length=43, null=True, blank=True)

    alert_cpu = models.PositiveIntegerField(help_text="Percent, 100 for each core; 0 is off.")
    alert_io = models.PositiveIntegerField(default=10000, help_text="Operations per second; 0 is off.")
    alert_network_in = models.PositiveIntegerField(default=10, help_text="Mbit/s; 0 is off.")
    alert_network_out = models.PositiveIntegerField(default=10, help_text="Mbit/s; 0 is off.")
    alert_transfer_quota = models.PositiveIntegerField(default=80, help_text="Percent; 0 is off.")

    backups_enabled = models.BooleanField(default=False)
    backups_available = models.BooleanField(default=False)
    backups_day = models.CharField(max_length=10, choices=Day, null=True, blank=True)
    backups_window = models.CharField(max_length=10, choices=Window, null=True, blank=True)
    backups_last_successful = models.DateTimeField(null=True, blank=True)

    watchdog_enabled = models.BooleanField(default=True)
    booted_config = models.ForeignKey(
        "compute.Config", null=True, blank=True, on_delete=models.SET_NULL, related_name="+", db_index=False,
        help_text="The configuration profile of the last boot, without boots of the rescue system.",
    )  # fmt: skip
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)

    objects = InstanceQuerySet.as_manager()

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(
                fields=("account", "label"),
                condition=~Q(status="deleting"),
                name="instance_label",
                violation_error_message="Label must be unique among your computes",
                violation_error_code="label",
            ),
            models.CheckConstraint(
                condition=Q(status__in=[
                    "running", "offline", "booting", "rebooting", "shutting_down", "provisioning", "deleting",
                    "migrating", "rebuilding", "cloning", "restoring", "stopped",
                ]),
                name="instance_status",
            ),
        ]  # fmt: skip
        indexes = [
            models.Index(fields=("account", "id"), name="instance_page"),
            GinIndex(fields=("tags",), name="instance_tags"),
            # for the clock: instances whose backup window is open, and those that have none yet
            models.Index(
                fields=("backups_window", "id"), condition=Q(backups_enabled=True), name="instance_backups"
            ),
            models.Index(fields=("id",), condition=UNSCHEDULED, name="instance_unscheduled"),
        ]

    def __str__(self) -> str:
        return self.label


class Disk(models.Model):
    """A disk of an instance. Sizes in MB; their sum never exceeds the disk of the instance's type."""

    class Filesystem(models.TextChoices):
        RAW = "raw"
        SWAP = "swap"
        EXT3 = "ext3"
        EXT4 = "ext4"
        INITRD = "initrd"

    class Status(models.TextChoices):
        READY = "ready"
        NOT_READY = "not ready"
        DELETING = "deleting"

    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="disks")
    label = models.CharField(max_length=48)
    size = models.PositiveIntegerField()
    filesystem = models.CharField(max_length=8, choices=Filesystem, default=Filesystem.EXT4)
    status = models.CharField(max_length=10, choices=Status, default=Status.NOT_READY)
    image = models.ForeignKey(
        Image, null=True, blank=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    stackscript = models.ForeignKey(
        "compute.StackScript", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return self.label


def default_helpers() -> dict[str, bool]:
    """The boot helpers of a new configuration profile: all on."""
    return {
        "updatedb_disabled": True,
        "distro": True,
        "modules_dep": True,
        "network": True,
        "devtmpfs_automount": True,
    }


class Config(models.Model):
    """A configuration profile: how an instance boots."""

    class RunLevel(models.TextChoices):
        DEFAULT = "default"
        SINGLE = "single"
        BINBASH = "binbash"

    class VirtMode(models.TextChoices):
        PARAVIRT = "paravirt"
        FULLVIRT = "fullvirt"

    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="configs")
    label = models.CharField(max_length=48)
    kernel = models.ForeignKey(
        Kernel, on_delete=models.PROTECT, related_name="+", default="compute/latest-64bit", db_index=False
    )
    comments = models.TextField(null=True, blank=True, default="")
    memory_limit = models.PositiveIntegerField(default=0, help_text="MB. 0: all memory of the instance type.")
    run_level = models.CharField(max_length=8, choices=RunLevel, default=RunLevel.DEFAULT)
    virt_mode = models.CharField(max_length=8, choices=VirtMode, default=VirtMode.PARAVIRT)
    root_device = models.CharField(max_length=64, default="/dev/sda")
    helpers = models.JSONField(default=default_helpers)
    interfaces = models.JSONField(default=list, blank=True)
    rescue = models.BooleanField(
        default=False,
        editable=False,
        help_text="A profile created by a rescue boot. The next rescue boot replaces it.",
    )
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("id",)
        indexes = [GinIndex(fields=("interfaces",), opclasses=("jsonb_path_ops",), name="config_interfaces")]

    def __str__(self) -> str:
        return self.label


class ConfigDevice(models.Model):
    """The disk in one slot, ``sda``..``sdh``, of a configuration profile."""

    SLOTS = ("sda", "sdb", "sdc", "sdd", "sde", "sdf", "sdg", "sdh")

    config = models.ForeignKey(Config, on_delete=models.CASCADE, related_name="devices")
    slot = models.CharField(max_length=3, choices=[(slot, slot) for slot in SLOTS])
    disk = models.ForeignKey(Disk, on_delete=models.CASCADE, related_name="devices")

    class Meta:
        ordering = ("slot",)
        constraints = [
            models.UniqueConstraint(fields=("config", "slot"), name="one_device_per_slot"),
            models.UniqueConstraint(fields=("config", "disk"), name="disk_once_per_config"),
        ]

    def __str__(self) -> str:
        return f"{self.slot}: {self.disk}"
