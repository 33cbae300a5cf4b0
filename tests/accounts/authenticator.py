"""A security key in Python, which answers browsers as CTAP2 keys do. Tests need no real key."""

import hashlib
import json
import secrets
from dataclasses import dataclass, field

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from webauthn.helpers import base64url_to_bytes, bytes_to_base64url

PRESENT, WITH_KEY = 0x01, 0x40


@dataclass
class Authenticator:
    """`count` is the key's signature counter. With None the key does not count."""

    origin: str
    count: int | None = 0
    credential: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def create(self, options: str) -> str:
        """Return the answer of ``navigator.credentials.create`` as JSON."""
        asked = json.loads(options)
        length = len(self.credential).to_bytes(2, "big")
        with_key = self._data(asked["rp"]["id"], WITH_KEY) + bytes(16) + length + self.credential + self._cose()
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": with_key})
        client = self._client("webauthn.create", asked["challenge"])
        return self._answer(clientDataJSON=client, attestationObject=attestation)

    def get(self, options: str) -> str:
        """Return the answer of ``navigator.credentials.get`` as JSON."""
        asked = json.loads(options)
        if self.count is not None:
            self.count += 1
        data, client = self._data(asked["rpId"], 0), self._client("webauthn.get", asked["challenge"])
        signature = self.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        return self._answer(clientDataJSON=client, authenticatorData=data, signature=signature)

    def _data(self, name: str, flags: int) -> bytes:
        return (
            hashlib.sha256(name.encode()).digest() + bytes([PRESENT | flags]) + (self.count or 0).to_bytes(4, "big")
        )

    def _cose(self) -> bytes:
        point = self.key.public_key().public_numbers()
        return cbor2.dumps({1: 2, 3: -7, -1: 1, -2: point.x.to_bytes(32, "big"), -3: point.y.to_bytes(32, "big")})

    def _client(self, kind: str, challenge: str) -> bytes:
        assert len(base64url_to_bytes(challenge)) >= 16
        return json.dumps({"type": kind, "challenge": challenge, "origin": self.origin}).encode()

    def _answer(self, **response: bytes) -> str:
        name = bytes_to_base64url(self.credential)
        parts = {part: bytes_to_base64url(value) for part, value in response.items()}
        return json.dumps({"id": name, "rawId": name, "type": "public-key", "response": parts})
