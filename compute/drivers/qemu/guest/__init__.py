"""The tiny guest: a kernel, an initrd that boots any system on one ext4, and an image of a few megabytes.

It is for laptops, for tests, and for the check of a host. `build` makes it in seconds from packages of the
distribution: a kernel, BusyBox, and Dropbear for ssh.
"""
