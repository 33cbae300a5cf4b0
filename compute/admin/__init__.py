"""Instances, jobs, addresses and the catalogue for staff."""

from compute.admin import (
    attention,
    backups,
    catalogue,
    hosts,
    instances,
    jobs,
    migrations,
    pools,
    ranges,
    scripts,
    vlans,
)

__all__ = [
    "attention",
    "backups",
    "catalogue",
    "hosts",
    "instances",
    "jobs",
    "migrations",
    "pools",
    "ranges",
    "scripts",
    "vlans",
]
