"""Reading SSH public keys, as users paste them."""

import base64
import binascii
import hashlib
from dataclasses import dataclass

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_ssh_public_key

SECURITY_KEY = "sk-ecdsa-sha2-nistp256@openssh.com"
ALGORITHMS = (
    "ssh-rsa",
    "ssh-dss",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "ssh-ed25519",
    SECURITY_KEY,
)
MAX_KEY_LENGTH = 16384


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A parsed key: its algorithm, its base64 body and the comment behind it."""

    algorithm: str
    body: str
    comment: str

    @property
    def fingerprint(self) -> str:
        """As ``ssh-keygen -l`` shows it: ``SHA256:`` and unpadded base64."""
        digest = hashlib.sha256(base64.b64decode(self.body)).digest()
        return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


class UnsupportedKey(ValueError):
    """A key of another algorithm than those in `ALGORITHMS`."""


def parse_public_key(text: str) -> PublicKey:
    """Parse one line of an ``authorized_keys`` file without options.

    Raises `ValueError` with a sentence when it is not one key, `UnsupportedKey` where its algorithm is unknown.
    """
    parts = text.strip().split(None, 2)
    if len(text) > MAX_KEY_LENGTH or len(parts) < 2 or "\n" in text.strip() or "\r" in text.strip():
        raise ValueError("SSH key is not valid")
    algorithm, body = parts[0], parts[1]
    if algorithm not in ALGORITHMS:
        raise UnsupportedKey("SSH key type is not supported")
    try:
        blob = base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("SSH key is not valid") from None
    if algorithm == SECURITY_KEY:
        _check_security_key(blob)
    else:
        _check(f"{algorithm} {body}")
    return PublicKey(algorithm, body, parts[2] if len(parts) > 2 else "")


def _check(line: str) -> None:
    try:
        load_ssh_public_key(line.encode())
    except (ValueError, UnsupportedAlgorithm, NotImplementedError):  # the last of compressed points
        raise ValueError("SSH key is not valid") from None


def _check_security_key(blob: bytes) -> None:
    """The loader does not know hardware keys: check their four fields (name, curve, point, application)."""
    fields = []
    while blob:
        if len(blob) < 4:
            raise ValueError("SSH key is not valid")
        size = int.from_bytes(blob[:4], "big")
        if len(blob) < 4 + size:
            raise ValueError("SSH key is not valid")
        fields.append(blob[4 : 4 + size])
        blob = blob[4 + size :]
    right = len(fields) == 4 and fields[0] == SECURITY_KEY.encode() and fields[1] == b"nistp256"
    if not right or len(fields[2]) != 65 or fields[2][0] != 4:
        raise ValueError("SSH key is not valid")
