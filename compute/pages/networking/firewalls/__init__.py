"""The pages of firewalls: the list, creating one, its rules, and the instances that it is attached to."""
