"""Requests that nobody would write, drawn from the OpenAPI document or made of bytes, and their answers."""
