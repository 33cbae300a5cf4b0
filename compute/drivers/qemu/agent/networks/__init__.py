"""The networks of machines: interfaces, routes, networks between hosts, and packet filters."""
