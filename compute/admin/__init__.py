"""Instances, jobs, addresses and the catalogue for staff."""

from compute.admin import (
    alarms,
    attention,
    backups,
    board,
    catalogue,
    consoles,
    drift,
    failing_jobs,
    heartbeats,
    hosts,
    instances,
    jobs,
    moves,
    outages,
    roles,
    search,
    stackscripts,
    volumes,
)
from compute.admin.domains import domains
from compute.admin.networking import firewalls, mail_ports, pools, ranges, vlans
from compute.admin.nodebalancers import nodebalancers

__all__ = [
    "alarms",
    "attention",
    "backups",
    "board",
    "catalogue",
    "consoles",
    "domains",
    "drift",
    "failing_jobs",
    "firewalls",
    "heartbeats",
    "hosts",
    "instances",
    "jobs",
    "mail_ports",
    "moves",
    "nodebalancers",
    "outages",
    "pools",
    "ranges",
    "roles",
    "search",
    "stackscripts",
    "vlans",
    "volumes",
]
