"""The agent as a program: requests, their arguments, and answers."""
