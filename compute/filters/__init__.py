"""The filter sets of compute's lists."""
