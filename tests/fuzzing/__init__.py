"""Requests that no client would write, drawn from the OpenAPI document or made of bytes, and their answers."""
