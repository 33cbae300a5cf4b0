"""The API kit: what every endpoint has in common. It knows no app.

docs/adding-an-endpoint.md describes how to add an endpoint.
"""
