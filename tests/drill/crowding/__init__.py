"""Attacks that fill the web processes with the work of one customer or address, and the load of other customers."""
