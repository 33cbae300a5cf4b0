"""The customer's pages of managed monitoring, below ``/home/monitoring``."""
