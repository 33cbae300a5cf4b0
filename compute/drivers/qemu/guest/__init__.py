"""The tiny guest: a kernel, an initrd that boots any system of one ext4, and an image of a few megabytes.

For laptops, tests, and for a host to check itself by. It is made of packages of the distribution (`build`), in
seconds: a kernel, BusyBox, and Dropbear for ssh.
"""
