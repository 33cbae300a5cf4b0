"""Load balancers with their configs and nodes, and their export to HAProxy."""
