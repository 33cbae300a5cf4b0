"""Addresses, IPv6 ranges, VLANs and firewalls on the wire."""
