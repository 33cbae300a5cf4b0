"""What ends a benchmark before its figures."""


class BenchError(Exception):
    """A server or a worker did not do its part; the text says which, and what it said."""
