"""Packet filters, which workers send to hosts."""
