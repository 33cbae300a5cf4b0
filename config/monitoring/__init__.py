"""Monitoring for operators and their tools: health, counts of past work, and measures of the present."""
