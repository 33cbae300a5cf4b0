"""Machines of QEMU: on this machine, or on hosts that are reached by ssh.

The package `agent` runs on a host. It needs the standard library, QEMU and e2fsprogs, and of our modules only
`compute.drivers.boot`. The driver calls the agent's verbs, in the same process or by ssh, and copies disks between
hosts.
"""
