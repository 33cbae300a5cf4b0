"""Instances and everything that is provisioned with them: hosts, jobs, drivers, networks, volumes, domains."""
