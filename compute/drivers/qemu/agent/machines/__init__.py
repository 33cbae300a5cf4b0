"""Machines: their QEMU with its supervisor, and consoles, devices, moves and usage."""
