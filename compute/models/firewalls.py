"""The name by which migration 0001 finds the default rules of a firewall."""

from compute.models.networking.firewalls import open_rules

__all__ = ["open_rules"]
