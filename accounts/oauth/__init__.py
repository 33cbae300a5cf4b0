"""The OAuth 2 server: django-oauth-toolkit's, with the authorization code and refresh token grants, and the
implicit grant only where it is switched on."""
