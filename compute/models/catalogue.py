"""The catalogue: instance types, kernels, images."""

from typing import Self

from django.db import models
from django.db.models import Exists, Q

from accounts.actors import Actor
from accounts.models import Account, GrantedQuerySet
from regions.models import position


class InstanceType(models.Model):
    """A plan. Disk and memory in MB, transfer in GB a month, network_out in Mbit/s, prices in USD."""

    class Class(models.TextChoices):
        NANODE = "nanode"
        STANDARD = "standard"
        DEDICATED = "dedicated"
        GPU = "gpu"
        HIGHMEM = "highmem"
        METAL = "metal"

    MAX_NETWORK_OUT = 100_000
    """The largest network_out, in Mbit/s. Linux cannot enforce a higher rate: hosts would treat it as unlimited,
    like 0."""

    id = models.SlugField(primary_key=True, max_length=50)
    label = models.CharField(max_length=64)
    type_class = models.CharField("class", max_length=10, choices=Class)
    memory = models.PositiveIntegerField()
    disk = models.PositiveIntegerField()
    vcpus = models.PositiveIntegerField()
    gpus = models.PositiveIntegerField(default=0)
    transfer = models.PositiveIntegerField()
    network_out = models.PositiveIntegerField()
    price_hourly = models.FloatField()
    price_monthly = models.FloatField()
    backup_price_hourly = models.FloatField(null=True, blank=True)
    backup_price_monthly = models.FloatField(null=True, blank=True)
    successor = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    deprecated = models.BooleanField(
        default=False, help_text="No longer available to new instances. Existing instances can be upgraded."
    )
    position = position()

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return self.label


class Kernel(models.Model):
    class Architecture(models.TextChoices):
        X86_64 = "x86_64"
        I386 = "i386"

    id = models.CharField(primary_key=True, max_length=64)
    label = models.CharField(max_length=128)
    version = models.CharField(max_length=32)
    kvm = models.BooleanField(default=True)
    xen = models.BooleanField(default=False)
    architecture = models.CharField(max_length=8, choices=Architecture)
    pvops = models.BooleanField(default=True)
    deprecated = models.BooleanField(default=False)
    built = models.DateTimeField(null=True, blank=True)
    position = position()

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return self.label


PUBLIC_CREATOR = "compute"
"""`created_by` of public images, which clients expect."""


def image_archive(number: int) -> str:
    """The driver's name for the archive of an account's own image."""
    return f"skerry-image-{number}"


class ImageQuerySet(GrantedQuerySet):
    entity_type = "image"
    grant_key = "number"

    def visible_to(self, actor: Actor | None) -> Self:
        """Public images for everyone, and the account's own as far as a restricted user's grants go.

        An image that is being deleted is visible to nobody.
        """
        there, public = ~Q(status=Image.Status.DELETING), Q(is_public=True)
        if actor is None:
            return self.filter(there & public)
        mine = Q(account_id=actor.account_id)
        if actor.restricted:
            return self.filter(there & (public | mine & Exists(self.grants(actor))))
        return self.filter(there & (public | mine))


class Image(models.Model):
    """A template that disks are deployed from. Sizes are in MB.

    Official images have no account and an id like ``compute/debian12``. An account's own images are
    ``private/<number>``; grants and the driver's archive name them by `number`.
    """

    class Type(models.TextChoices):
        MANUAL = "manual"
        AUTOMATIC = "automatic"

    class Status(models.TextChoices):
        CREATING = "creating"
        PENDING_UPLOAD = "pending_upload"
        AVAILABLE = "available"
        DELETING = "deleting"

    id = models.CharField(primary_key=True, max_length=64)
    number = models.BigIntegerField(null=True, blank=True, unique=True, editable=False)
    account = models.ForeignKey(Account, null=True, blank=True, on_delete=models.CASCADE, related_name="images")
    label = models.CharField(max_length=50)
    vendor = models.CharField(max_length=64, null=True, blank=True)
    description = models.TextField(null=True, blank=True)
    size = models.PositiveIntegerField(default=0)
    is_public = models.BooleanField(default=False)
    deprecated = models.BooleanField(default=False)
    type = models.CharField(max_length=10, choices=Type, default=Type.MANUAL)
    status = models.CharField(max_length=16, choices=Status, default=Status.AVAILABLE)
    driver = models.CharField(
        max_length=32, default="simulated", db_default="simulated", editable=False,
        help_text="The driver that stores the archive of an account's image.",
    )  # fmt: skip
    created = models.DateTimeField()
    updated = models.DateTimeField(null=True, blank=True)
    created_by = models.CharField(max_length=32, null=True, blank=True)
    expiry = models.DateTimeField(null=True, blank=True)
    eol = models.DateTimeField("end of life", null=True, blank=True)
    position = position()

    objects = ImageQuerySet.as_manager()

    class Meta:
        ordering = ("id",)
        constraints = [
            models.CheckConstraint(
                condition=models.Q(is_public=True) | models.Q(account__isnull=False),
                name="image_private_has_account",
            ),
        ]

    def __str__(self) -> str:
        return self.label

    @property
    def source(self) -> str:
        """The driver's name for the image: the id of an official image, else the name of the archive."""
        return self.pk if self.number is None else image_archive(self.number)

    @property
    def own_number(self) -> int:
        """The number of an account's own image. Raises `ValueError` for an official image, which has none."""
        if self.number is None:
            raise ValueError(f"The image {self.pk} is no account's own.")
        return self.number


class SeededRow(models.Model):
    """A row that `seed` added once, whether or not it still exists: rows that staff deleted do not come back."""

    class Kind(models.TextChoices):
        REGION = "region"
        TYPE = "type"
        KERNEL = "kernel"
        IMAGE = "image"
        SCRIPT = "script"
        HOST = "host"
        POOL = "pool"
        PRICE = "price"
        LEVEL = "level"

    kind = models.CharField(max_length=8, choices=Kind)
    key = models.CharField(
        max_length=64, help_text="The id of the object, the label of a host, or the network of a pool."
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=("kind", "key"), name="seeded_row")]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"
