"""Serializers of addresses, IPv6 ranges, VLANs and firewalls."""
