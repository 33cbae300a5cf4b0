"""Steps of a tour that a person takes in a browser."""

import json
import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import requests

from tests.tours.server import LiveServer

SECONDS = 300
HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)"')


def press_give_access(server: LiveServer, address: str) -> str:
    """Open the address for an app's user, sign in as the owner, and press **Give access**. Returns the code."""
    password = json.loads((server.state / "demo.json").read_text())["owner"]
    with requests.Session() as browser:
        login = browser.get(address, timeout=SECONDS)
        consent = browser.post(
            login.url, data={**hidden(login), "username": "owner", "password": password}, timeout=SECONDS
        )
        assert "Give access" in consent.text, consent.text
        back = browser.post(
            consent.url, data={**hidden(consent), "allow": "true"}, timeout=SECONDS, allow_redirects=False
        )
    return parse_qs(urlsplit(back.headers["Location"]).query)["code"][0]


def hidden(page: requests.Response) -> dict[str, str]:
    """Return the hidden fields of a page's form."""
    return {name: unescape(value) for name, value in HIDDEN.findall(page.text)}
