"""What tells operators and their tools how the installation does: health, counts of what it did, and measures."""
