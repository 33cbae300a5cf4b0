"""``make serve``: one terminal that runs everything."""
