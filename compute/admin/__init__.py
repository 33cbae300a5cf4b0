"""Instances, jobs, addresses and the catalogue for staff."""

from compute.admin import attention, catalogue, hosts, instances, jobs, migrations, pools, ranges, scripts

__all__ = ["attention", "catalogue", "hosts", "instances", "jobs", "migrations", "pools", "ranges", "scripts"]
