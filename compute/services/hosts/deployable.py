"""The images that the hosts of a region, or one host, can deploy, and the kernels that their machines boot."""

from django.db.models import Q

from compute.models import Host, Image, Kernel
from config.errors import Problems

NOT_THERE = "This image cannot be deployed in this region."

IS_DEPLOYABLE = "({image}.account_id IS NULL AND ({host}.images IS NULL OR {image}.id = ANY({host}.images))"
IS_DEPLOYABLE += " OR {image}.account_id IS NOT NULL AND {host}.driver = {image}.driver)"
"""SQL: whether the host can deploy the image: an official one that it has, or one that its driver has archived."""


def check_deployable(image: Image | None, host: Host, problems: Problems) -> None:
    """Add a problem on ``image`` if the host cannot deploy it."""
    if image is None:
        return
    there = Q(driver=image.driver) if image.account_id else Q(images=None) | Q(images__contains=[image.pk])
    if not Host.objects.filter(there, pk=host.pk).exists():
        problems.add("image", NOT_THERE)


def boots_kernel(host_id: int, kernel: Kernel) -> bool:
    """Tell whether machines on the host boot kernels such as this one. Machines on simulated hosts boot any
    kernel."""
    boots = Q(architectures=None) | Q(architectures__contains=[kernel.architecture])
    return Host.objects.filter(boots, pk=host_id).exists()
