"""What runs on a host: machines, their disks, the region's volumes. Standard library only: it is copied to hosts as
one file."""
