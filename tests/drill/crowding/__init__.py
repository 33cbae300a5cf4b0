"""Attacks that crowd the web processes with work of one customer or address, and the load of the others."""
