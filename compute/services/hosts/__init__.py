"""Hosts: adding and probing them, capacity, maintenance, moves of instances, and drift."""
