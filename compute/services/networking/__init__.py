"""Addresses and their pools, IPv6 ranges, reverse names, VLANs and firewalls."""
