"""Disks, volumes and images: raw files, the file systems in them, and their copies and transfers."""
