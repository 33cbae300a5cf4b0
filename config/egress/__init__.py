"""Egress: the hosts and addresses, named by customers, that this platform may connect to for them."""
