"""An OpenID Connect provider to sign in with: django-oauth-toolkit's, a tiny Django project in its own process.

``python -m tests.oidc_provider FOLDER REDIRECT_URI…`` serves it on a free port of this machine, with a database in
FOLDER, and prints a line of JSON: its issuer, the id and the secret of our client. It ends when its input does.
The people are `PEOPLE`, all with the password `PASSWORD`.
"""

PEOPLE = ("kari", "ola", "mallory")
PASSWORD = "what-kari-tells-the-provider"


def subject_of(person: str) -> str:
    """What the provider tells a person by."""
    return f"person:{person}"
