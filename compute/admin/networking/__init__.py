"""The pages of addresses, IPv6 ranges, VLANs and firewalls for staff."""
