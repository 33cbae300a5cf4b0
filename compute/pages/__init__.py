"""The customer's pages of compute, below ``/home/``: instances and their parts, consoles and search."""
