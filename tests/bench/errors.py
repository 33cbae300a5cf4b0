"""Errors that end a benchmark before it has figures."""


class BenchError(Exception):
    """A server or a worker failed. The text names it and quotes its output."""
