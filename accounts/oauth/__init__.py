"""The OAuth 2 server: django-oauth-toolkit's, with the authorization code and refresh token grants, and no others
unless the implicit one is switched on."""
