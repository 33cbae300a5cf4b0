"""Load balancers made real: HAProxy on the hosts that balance, told from the tables, and what it tells back."""
