"""HAProxy on the balancing hosts: load balancers are exported from the tables, and its reports written there."""
