"""An OpenID Connect provider for tests: a tiny Django project with django-oauth-toolkit, in a process of its
own.

``python -m tests.oidc_provider FOLDER REDIRECT_URI…`` serves the provider on a free port of this machine, with
a database in FOLDER. It prints a line of JSON: its issuer, and the id and the secret of our client. It ends
when its input does. The people are `PEOPLE`, all with the password `PASSWORD`.
"""

PEOPLE = ("kari", "ola", "mallory")
PASSWORD = "what-kari-tells-the-provider"


def subject_of(person: str) -> str:
    """Return the provider's subject identifier of a person."""
    return f"person:{person}"
