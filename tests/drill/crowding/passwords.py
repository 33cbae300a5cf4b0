"""Wrong passwords: argon2 takes a tenth of a second of processor time for each of them."""

import http.client
import re
from contextlib import AbstractContextManager
from urllib.parse import urlencode

from tests.drill.crowding.attacker import Attacker
from tests.drill.crowding.load import request

PAUSE_SECONDS = 1 / 13
FORM_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="(\w+)"')


def guess(attacker: Attacker) -> AbstractContextManager[None]:
    """Send 13 wrong passwords a second to the sign-in page, without a token, each for another name.

    Secrets of OAuth clients are not attacked: comparing their digests costs almost nothing.
    """
    connection = http.client.HTTPConnection("127.0.0.1", attacker.port, source_address=(attacker.address, 0))
    connection.request("GET", "/login")
    page = connection.getresponse()
    cookie = str(page.headers["Set-Cookie"]).partition(";")[0]
    found = FORM_TOKEN.search(page.read().decode())
    connection.close()
    if found is None:
        raise RuntimeError(f"GET /login is answered {page.status} without a form")

    def post(number: int) -> bytes:
        fields = {"csrfmiddlewaretoken": found[1], "username": f"{attacker.name}-{number}", "password": "wrong"}
        content = urlencode(fields).encode()
        kind = "application/x-www-form-urlencoded"
        return request("POST", "/login", content, Content_Type=kind, Cookie=cookie)

    return attacker.sending([post(number) for number in range(attacker.form.passwords)], PAUSE_SECONDS)
