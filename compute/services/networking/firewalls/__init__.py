"""Firewalls: their rules, the instances they are on, and the packet filters of hosts."""
