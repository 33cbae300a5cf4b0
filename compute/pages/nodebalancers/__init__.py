"""The pages of load balancers, their configs and their nodes."""
