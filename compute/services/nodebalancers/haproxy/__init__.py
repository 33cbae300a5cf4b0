"""HAProxy on the hosts that balance: load balancers are exported from the tables, and its reports written there."""
