"""Instances, jobs, addresses and the catalogue for staff."""

from compute.admin import attention, catalogue, hosts, instances, jobs, pools, ranges

__all__ = ["attention", "catalogue", "hosts", "instances", "jobs", "pools", "ranges"]
