"""The hash of the secrets of OAuth clients."""

import hashlib

from django.contrib.auth.hashers import BasePasswordHasher
from django.utils.crypto import constant_time_compare


class ClientSecretHasher(BasePasswordHasher):
    """SHA-256. For secrets that the server makes of 256 random bits, never for passwords.

    Such secrets cannot be guessed. A slow hash would add nothing, and anybody with a client id could keep the
    server busy.
    """

    algorithm = "client_secret_sha256"

    def encode(self, password: str, salt: str) -> str:
        return f"{self.algorithm}${hashlib.sha256(password.encode()).hexdigest()}"

    def verify(self, password: str, encoded: str) -> bool:
        return constant_time_compare(encoded, self.encode(password, ""))

    def decode(self, encoded: str) -> dict[str, str]:
        algorithm, _, digest = encoded.partition("$")
        return {"algorithm": algorithm, "hash": digest}

    def safe_summary(self, encoded: str) -> dict:
        return {"algorithm": self.algorithm}

    def must_update(self, encoded: str) -> bool:
        return False

    def harden_runtime(self, password: str, encoded: str) -> None:
        """Do nothing: the check always takes the same time."""
