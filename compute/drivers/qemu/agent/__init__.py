"""The agent, which runs on a host: machines, their disks, and the region's volumes.

The agent uses only the standard library, because it is copied to hosts as one file.
"""
