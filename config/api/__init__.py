"""The API kit: base classes and helpers of all endpoints. The package imports no app.

docs/adding-an-endpoint.md describes how to add an endpoint.
"""
