"""Load balancers, their configs and nodes."""
