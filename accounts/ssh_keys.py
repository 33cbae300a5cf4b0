"""Parses SSH public keys that users paste."""

import base64
import hashlib
from dataclasses import dataclass

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_ssh_public_key

ALGORITHMS = (
    "ssh-rsa",
    "ssh-dss",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "ssh-ed25519",
    "sk-ecdsa-sha2-nistp256@openssh.com",
    "sk-ssh-ed25519@openssh.com",
)
MAX_KEY_LENGTH = 16384


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A parsed key: its algorithm, its base64 body and its comment."""

    algorithm: str
    body: str
    comment: str

    @property
    def fingerprint(self) -> str:
        """The fingerprint as ``ssh-keygen -l`` shows it: ``SHA256:`` and unpadded base64."""
        digest = hashlib.sha256(base64.b64decode(self.body)).digest()
        return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


class UnsupportedKey(ValueError):
    """A key with an algorithm that is not in `ALGORITHMS`."""


def parse_public_key(text: str) -> PublicKey:
    """Parse one line of an ``authorized_keys`` file without options.

    Raises `ValueError` with a sentence if it is not one key, and `UnsupportedKey` if its algorithm is unknown.
    """
    parts = text.strip().split(None, 2)
    if len(text) > MAX_KEY_LENGTH or len(parts) < 2 or "\n" in text.strip() or "\r" in text.strip():
        raise ValueError("SSH key is not valid")
    algorithm, body = parts[0], parts[1]
    if algorithm not in ALGORITHMS:
        raise UnsupportedKey("SSH key type is not supported")
    try:
        base64.b64decode(body, validate=True)  # the loader accepts some text that is not Base64
        load_ssh_public_key(f"{algorithm} {body}".encode())
    except (ValueError, UnsupportedAlgorithm, NotImplementedError):  # NotImplementedError: compressed points
        raise ValueError("SSH key is not valid") from None
    return PublicKey(algorithm, body, parts[2] if len(parts) > 2 else "")
