"""The OAuth 2 server: django-oauth-toolkit's, with the authorization code and refresh token grants.

The implicit grant is available only if it is switched on.
"""
