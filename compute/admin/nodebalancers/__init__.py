"""The pages of load balancers for staff."""
