"""The tables of load balancers, their configs, nodes and traffic."""
