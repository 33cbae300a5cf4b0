"""The filters of load balancers, their configs and nodes."""
