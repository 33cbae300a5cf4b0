"""Addresses of an account and its instances, for tests of several paths."""

from compute.models import Instance


def allow(world, number: int) -> None:
    """Allow the account this number of public addresses beyond one for each instance."""
    world.account.extra_ipv4 = number
    world.account.save()


def slaac(instance: Instance) -> str:
    return instance.ipv6.removesuffix("/128")
