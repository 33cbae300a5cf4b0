"""The API kit: what every endpoint has in common. It knows no app.

How an endpoint is added is told in docs/adding-an-endpoint.md.
"""
