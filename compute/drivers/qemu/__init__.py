"""Machines of QEMU: on this machine, or on hosts that are reached by ssh.

`agent` is what runs on a host: the standard library, QEMU and e2fsprogs, and of ours only `compute.drivers.boot`.
The driver calls its verbs, here in the same process or there by ssh, and copies what goes from one host to another.
"""
