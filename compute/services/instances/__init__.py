"""Instances with their disks and profiles: create, change, power, resize, rebuild, clone, delete."""
