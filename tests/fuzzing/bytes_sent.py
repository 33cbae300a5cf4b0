"""Requests as bytes: good ones, ones with wrong content, and ones that are not HTTP."""

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from tests.client import document

PARAMETER = re.compile(r"\{\w+\}")
ENDS_ACCESS = re.compile(r"/profile/tokens|/profile/tfa|/profile$|/account/users|/account/settings")
"""Paths that are only read. A random change there could break the requests after it."""


@dataclass(frozen=True)
class Request:
    """Bytes to send.

    `method` and `path` are set if a server must find them in the bytes. `whole` is set if nothing is missing,
    so that an answer must come.
    """

    content: bytes
    method: str = ""
    path: str = ""
    whole: bool = True


class Maker:
    """A generator of random requests, the same ones for the same `seed`."""

    def __init__(self, seed: str, token: str):
        self.chance = random.Random(seed)
        self.token = token
        self.operations = sorted(
            (method.upper(), path)
            for path, item in document()["paths"].items()
            for method in item
            if method == "get" or not ENDS_ACCESS.search(path)
        )
        self.reading = [each for each in self.operations if each[0] == "GET"]
        self.kinds: list[Callable[[], Request]] = [
            *4 * [self.reads], *2 * [self.writes], self.filters, self.strange_path, self.broken_json,
            self.strange_headers, self.too_many_headers, self.too_long, self.wrong_length, self.chunks,
            self.request_lines, self.flipped, self.cut_off, self.noise, self.two_at_once, self.strange_types,
        ]  # fmt: skip

    def make(self) -> Request:
        return self.chance.choice(self.kinds)()

    def good(self) -> Request:
        """Return a request that is answered 200."""
        return self._request("GET", "/v4/account", [])

    # valid HTTP

    def reads(self) -> Request:
        method, path = self.chance.choice(self.reading)
        query = self.chance.choice(
            ["", "", "?page=2", "?page_size=500", "?page=0", f"?{self._text(9)}={self._text(9)}"]
        )
        return self._request(method, self._filled(path) + query, [])

    def writes(self) -> Request:
        method, path = self.chance.choice(self.operations)
        body = json.dumps({self._name(): self._value() for _ in range(self.chance.randint(0, 4))}).encode()
        # a deleted object would be missing later
        path = path.replace("{id}", "999999999") if method == "DELETE" else path
        return self._request(method, self._filled(path), [], body if method in ("POST", "PUT") else None)

    def filters(self) -> Request:
        method, path = self.chance.choice(self.reading)
        junk = self.chance.choice([json.dumps(self._value()), self._text(40), "[" * 3000, '{"+and":' * 40])
        return self._request(method, self._filled(path), [("X-Filter", junk.encode())])

    def strange_path(self) -> Request:
        pieces = [
            "/v4", "/..", "//", "/%2e%2e", "/%00", "/%", "/%zz", "/%ff%fe", "/tags/", "/v4beta", "/\xe9",
            "/regions", "/compute", "/instances", "/99999999999999999999", "/-1", "/1e3", "?", "#", ";", "/*",
            "/%F0%9F%98%80",
        ]  # fmt: skip
        path = "/v4" + "".join(self.chance.choices(pieces, k=self.chance.randint(1, 8)))
        return Request(self._head("GET", path, []), whole=False)

    def broken_json(self) -> Request:
        method, path = self.chance.choice([each for each in self.operations if each[0] in ("POST", "PUT")])
        body = self.chance.choice([
            b"{", b"[]", b"null", b'{"label": "\xff\xfe"}', b'{"label": "\\ud800"}', b'{"label": "a\\u0000"}',
            b"\x00" * 40, b'{"a":' * 3000 + b"1" + b"}" * 3000, b'{"size": 1e999}',
            b'{"size": ' + b"9" * 5000 + b"}", b'{"label": NaN}', b"\xef\xbb\xbf{}",
            '{"label": "x"}'.encode("utf-16"), b'{"tags": [' + b'"a",' * 20_000 + b'"a"]}',
            b'{"label": "' + b"x" * 3_000_000 + b'"}', b'{"label": 1, "label": "two"}', self._bytes(200),
        ])  # fmt: skip
        return self._request(method, self._filled(path), [], body)

    def strange_types(self) -> Request:
        kinds = [
            b"text/plain", b"multipart/form-data", b"multipart/form-data; boundary=\xff",
            b"application/json; charset=base64", b"", b"/", b"image/png", b"application/json" + b";a" * 2000,
            self._bytes(20),
        ]  # fmt: skip
        path = self.chance.choice(["/v4/support/tickets/1/attachments", "/v4/volumes", "/oauth/token", "/v4/tags"])
        kind = self.chance.choice(kinds).translate(None, b"\r\n")
        body = self.chance.choice(
            [b"{}", b"--x\r\nContent-Disposition: form-data; name=file\r\n\r\n", self._bytes(300)]
        )
        return Request(self._head("POST", path, [("Content-Type", kind)], body), whole=False)

    # invalid HTTP

    def strange_headers(self) -> Request:
        lines = [
            b"X: \x00", b": empty", b"no colon", b"X : space before", b" folded: at once", b"X: a\r\n b",
            b"X: \xff\xfe\xfa", b"Host: other", b"Host: \xff", b"Connection: close, keep-alive, x",
            b"Expect: 100-continue", b"Expect: x", b"Upgrade: h2c", b"Cookie: " + b"a=b; " * 200,
            b"Accept: " + self._bytes(30).translate(None, b"\r\n"),
            b"Authorization: Bearer " + self._bytes(30).translate(None, b"\r\n"),
            b"X-Request-ID: " + b"x" * 500, b"Range: bytes=0-", b"X-Forwarded-For: " + b"1," * 300,
            b"Content-Encoding: gzip", b"Trailer: X", b"X-HTTP-Method-Override: DELETE",
            b"Accept-Language: " + b"a-" * 500, b"Origin: null",
        ]  # fmt: skip
        extra = b"\r\n".join(self.chance.sample(lines, self.chance.randint(1, 3)))
        return Request(self._head("GET", "/v4/regions", [], raw=extra + b"\r\n"), whole=False)

    def too_many_headers(self) -> Request:
        many = b"".join(b"X-%d: y\r\n" % number for number in range(self.chance.choice([90, 110, 2000])))
        return Request(self._head("GET", "/v4/regions", [], raw=many), whole=False)

    def too_long(self) -> Request:
        length = self.chance.choice([8_000, 70_000, 300_000])
        if self.chance.random() < 0.5:
            return Request(self._head("GET", "/v4/regions/" + "x" * length, []), whole=False)
        return Request(self._head("GET", "/v4/regions", [("X-Long", b"x" * length)]), whole=False)

    def wrong_length(self) -> Request:
        lengths = [
            b"-1", b"+5", b"0x5", b"5, 5", b"5, 6", b"", b"9" * 30, b"1_0", b"5 5", b"1000000", b"1", b"\xb2",
            b"0",
        ]  # fmt: skip
        raw = b"".join(
            b"Content-Length: %s\r\n" % self.chance.choice(lengths) for _ in range(self.chance.randint(1, 2))
        )
        if self.chance.random() < 0.3:
            raw += b"Transfer-Encoding: chunked\r\n"
        return Request(self._head("POST", "/v4/tags", [], raw=raw) + b'{"label": "tagged"}', whole=False)

    def chunks(self) -> Request:
        pieces = [
            b"5\r\n{\"a\":\r\n", b"2\r\n1}\r\n", b"0\r\n\r\n", b"zz\r\n", b"-1\r\n\r\n",
            b"ffffffffffffffff\r\n", b"1;ext=\x00\r\nx\r\n", b"5\r\nab\r\n", b"\r\n",
            b"0\r\nTrailer: x\r\n\r\n", b"1" * 200 + b"\r\n", self._bytes(20),
        ]  # fmt: skip
        encodings = [b"chunked", b"Chunked", b"gzip, chunked", b"chunked, identity", b"\x0bchunked", b"xchunked"]
        raw = b"Transfer-Encoding: %s\r\n" % self.chance.choice(encodings)
        body = b"".join(self.chance.choices(pieces, k=self.chance.randint(1, 5)))
        return Request(self._head("POST", "/v4/tags", [], raw=raw) + body, whole=False)

    def request_lines(self) -> Request:
        lines = [
            b"GET /v4/regions", b"GET", b"", b"GET  /v4/regions HTTP/1.1", b"get /v4/regions HTTP/1.1",
            b"GET /v4/regions HTTP/9.9", b"GET /v4/regions HTTP/1.0", b"GET /v4/regions HTTP/0.9",
            b"GET http://x/v4/regions HTTP/1.1", b"GET * HTTP/1.1", b"OPTIONS * HTTP/1.1",
            b"CONNECT x:1 HTTP/1.1", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"PRI * HTTP/2.0",
            b"TRACE / HTTP/1.1", b"G\x00T /v4 HTTP/1.1", b"PATCH /v4/regions HTTP/1.1",
            b"X" * 5000 + b" / HTTP/1.1", b"GET /v4/\xff\xfe HTTP/1.1", b"GET /v4/re\x00gions HTTP/1.1",
            b"GET v4 HTTP/1.1", b"GET /v4 HTTP/1.1 x",
        ]  # fmt: skip
        return Request(self.chance.choice(lines) + b"\r\nHost: 127.0.0.1\r\n\r\n", whole=False)

    def flipped(self) -> Request:
        """Return a good request with some bytes changed."""
        content = bytearray(self.chance.choice([self.reads, self.writes])().content)
        for _ in range(self.chance.randint(1, 6)):
            content[self.chance.randrange(len(content))] = self.chance.choice([0, 10, 13, 32, 58, 127, 255, 37])
        return Request(bytes(content), whole=False)

    def cut_off(self) -> Request:
        content = self.writes().content
        return Request(content[: self.chance.randrange(1, len(content))], whole=False)

    def noise(self) -> Request:
        return Request(self._bytes(self.chance.choice([1, 30, 2000])), whole=False)

    def two_at_once(self) -> Request:
        return Request(self.reads().content + self.writes().content, whole=False)

    # the parts

    def _request(
        self, method: str, path: str, headers: list[tuple[str, bytes]], body: bytes | None = None
    ) -> Request:
        if body is not None:
            headers = [("Content-Type", b"application/json"), *headers]
        return Request(self._head(method, path, headers, body), method, path)

    def _head(
        self, method: str, path: str, headers: list[tuple[str, bytes]], body: bytes | None = None, raw: bytes = b""
    ) -> bytes:
        known = [("Host", b"127.0.0.1"), ("Authorization", f"Bearer {self.token}".encode()), *headers]
        if body is not None:
            known.append(("Content-Length", str(len(body)).encode()))
        lines = b"".join(name.encode() + b": " + value + b"\r\n" for name, value in known)
        return f"{method} {path} HTTP/1.1\r\n".encode() + lines + raw + b"\r\n" + (body or b"")

    def _filled(self, path: str) -> str:
        return PARAMETER.sub(lambda _: self._id(), path)

    def _id(self) -> str:
        ids = [
            "1", "1", "2", "3", "1001", "999999", "0", "9223372036854775807", "99999999999999999999", "us-east",
            "compute%2Fdebian11", "198.18.0.2", "2001:db8::", "demo", "%00", "a" * 300,
        ]  # fmt: skip
        return self.chance.choice(ids)

    def _name(self) -> str:
        names = [
            "label", "size", "region", "type", "image", "tags", "compute_id", "devices", "rules", "domain",
            "expiry", "interfaces", "alerts", "configs", "nodes", "port", "address", "name", "target",
            "description",
        ]  # fmt: skip
        return self.chance.choice(names)

    def _value(self, depth: int = 0) -> object:
        leaves = [
            None, True, 0, -1, 2**31, 2**63, 2**70, 1.5, 1e300, "", "us-east", "g6-nanode-1", "web-1",
            "x" * 5000, "2026-01-02T03:04:05", "\U0001f600", self._text(12),
        ]  # fmt: skip
        if depth > 3 or self.chance.random() < 0.6:
            return self.chance.choice(leaves)
        if self.chance.random() < 0.5:
            return [self._value(depth + 1) for _ in range(self.chance.randint(0, 4))]
        return {self._name(): self._value(depth + 1) for _ in range(self.chance.randint(0, 4))}

    def _text(self, longest: int) -> str:
        text = "".join(chr(self.chance.randint(32, 0x2FF)) for _ in range(self.chance.randint(1, longest)))
        return quote(text) if self.chance.random() < 0.9 else quote(text.encode("utf-16"))

    def _bytes(self, length: int) -> bytes:
        return self.chance.randbytes(length)
