"""Settings of the provider."""

import os
import secrets
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat


def _private_key() -> str:
    key = rsa.generate_private_key(65537, 2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


class NoMigrations:
    """A stand-in for the migrations: tables are made from the models, so the provider starts in a second."""

    def __contains__(self, app):
        return True

    def __getitem__(self, app):
        return None


SECRET_KEY = secrets.token_hex(32)
ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = "tests.oidc_provider.urls"
USE_TZ = True
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "oauth2_provider",
]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": Path(os.environ["PROVIDER_FOLDER"]) / "provider.sqlite",
    }
}
MIGRATION_MODULES = NoMigrations()
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# Cookies do not depend on ports, and ours are on the same host.
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "provider_session", "provider_csrf"
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
]
LOGIN_PAGE = """<!DOCTYPE html><html lang="en"><title>Provider</title><h1>The provider</h1>
<form method="post">{% csrf_token %}{{ form.as_p }}<input type="hidden" name="next" value="{{ next }}">
<button>Let me in</button></form></html>"""
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "OPTIONS": {
            "loaders": [
                ("django.template.loaders.locmem.Loader", {"login.html": LOGIN_PAGE}),
                "django.template.loaders.app_directories.Loader",
            ],
        },
    },
]
LOGIN_URL = "login"
OAUTH2_PROVIDER = {
    "OIDC_ENABLED": True,
    "OIDC_RSA_PRIVATE_KEY": _private_key(),
    "OAUTH2_VALIDATOR_CLASS": "tests.oidc_provider.claims.Validator",
    "SCOPES": {"openid": "Who you are", "profile": "Your name", "email": "Your address"},
    "PKCE_REQUIRED": True,
    "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
}
