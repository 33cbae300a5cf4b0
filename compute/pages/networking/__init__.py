"""The pages of an instance's addresses, VLANs and firewalls."""
