"""Access of workers to hosts by ssh: the platform's own key, and the keys by which hosts prove themselves."""

import base64
import binascii
import hashlib

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from compute.models import PlatformKey
from config.encryption import decrypt_json, encrypt_json

NAME = "hosts"


def platform_key() -> PlatformKey:
    """Return the key of this platform. The first call makes it; two calls at once return the same key."""
    found = PlatformKey.objects.filter(name=NAME).first()
    if found is not None:
        return found
    made = Ed25519PrivateKey.generate()
    public = made.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    private = made.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
    values = {"public": f"{public} skerry", "encrypted": encrypt_json({"private": private})}
    return PlatformKey.objects.get_or_create(name=NAME, defaults=values)[0]


def private_part(key: PlatformKey) -> str:
    """Return the private key in OpenSSH's file format. Raises `cryptography.fernet.InvalidToken`."""
    return str(decrypt_json(key.encrypted)["private"])


def fingerprint(public: str) -> str:
    """Return the fingerprint of a public key, as ``ssh-keygen -l`` shows it. Raises `ValueError` for an invalid
    key."""
    try:
        blob = base64.b64decode(public.split()[1], validate=True)
    except (IndexError, binascii.Error) as error:
        raise ValueError("This is not a public key.") from error
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
