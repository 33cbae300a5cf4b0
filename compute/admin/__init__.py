"""Instances, jobs, addresses and the catalogue for staff."""

from compute.admin import (
    attention,
    backups,
    balancers,
    catalogue,
    domains,
    firewalls,
    hosts,
    instances,
    jobs,
    migrations,
    pools,
    ranges,
    scripts,
    vlans,
    volumes,
)

__all__ = [
    "attention",
    "backups",
    "balancers",
    "catalogue",
    "domains",
    "firewalls",
    "hosts",
    "instances",
    "jobs",
    "migrations",
    "pools",
    "ranges",
    "scripts",
    "vlans",
    "volumes",
]
