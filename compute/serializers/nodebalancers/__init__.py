"""Load balancers, their configs, nodes and traffic on the wire."""
