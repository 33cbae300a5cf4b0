"""The filter sets of accounts' lists."""
