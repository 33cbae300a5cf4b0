"""Managed monitoring: services, the prober, issues, contacts and credentials."""
