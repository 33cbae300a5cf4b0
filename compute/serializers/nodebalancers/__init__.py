"""Serializers of load balancers, their configs, nodes and traffic."""
