"""Serve the provider. See the package."""

import json
import os
import secrets
import sys
import threading
from wsgiref.simple_server import WSGIRequestHandler, make_server


class Quiet(WSGIRequestHandler):
    """A request handler that logs nothing."""

    def log_message(self, *args):
        pass


def main(folder: str, *redirect_uris: str) -> None:
    os.environ["PROVIDER_FOLDER"] = folder
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.oidc_provider.settings"
    import django

    django.setup()
    from django.core.management import call_command
    from django.core.wsgi import get_wsgi_application

    call_command("migrate", run_syncdb=True, verbosity=0)
    client_id, client_secret = fill(redirect_uris)
    server = make_server("127.0.0.1", 0, get_wsgi_application(), handler_class=Quiet)
    found = {
        "issuer": f"http://127.0.0.1:{server.server_port}/o",
        "client_id": client_id,
        "client_secret": client_secret,
    }
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


def fill(redirect_uris: tuple[str, ...]) -> tuple[str, str]:
    """Create the people and our client. Returns the client's id and secret."""
    from django.contrib.auth.models import User
    from oauth2_provider.models import Application

    from tests.oidc_provider import PASSWORD, PEOPLE

    for name in PEOPLE:
        User.objects.create_user(name, f"{name}@id.example", PASSWORD)
    secret = secrets.token_hex(32)
    app = Application.objects.create(
        name="Skerry",
        redirect_uris=" ".join(redirect_uris),
        client_type=Application.CLIENT_CONFIDENTIAL,
        authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE,
        client_secret=secret,
        algorithm=Application.RS256_ALGORITHM,
        skip_authorization=True,
    )
    return app.client_id, secret


if __name__ == "__main__":
    main(*sys.argv[1:])
