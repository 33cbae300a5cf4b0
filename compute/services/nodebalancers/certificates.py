"""Reading the certificates and private keys that clients send, and checking that they match."""

import dataclasses
import ssl
from dataclasses import dataclass

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.dsa import DSAPublicKey
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    SECP384R1,
    SECP521R1,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
)
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import NameOID, PublicKeyAlgorithmOID

from config.errors import Problems

MAX_PEM_LENGTH = 100_000
"""The largest length of a certificate with its chain, or of a key, in characters."""
MAX_IN_CHAIN = 10
RSA_BITS = range(2048, 4097)
"""The valid sizes of RSA keys in bits. Longer ones take seconds to validate and for every handshake, on shared
hosts."""
CURVES = (SECP256R1, SECP384R1, SECP521R1)
WEAK = (hashes.MD5, hashes.SHA1)
WEAKEST = ((RSAPublicKey, 2048), (DSAPublicKey, 2048), (EllipticCurvePublicKey, 224))
"""The smallest size in bits for each kind of key. OpenSSL does not load a chain with a smaller key."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate with its chain and the matching key, written anew, without any other text of the client."""

    cert: str
    key: str = dataclasses.field(repr=False)
    common_name: str
    fingerprint: str


def read_pair(cert: str, key: str, problems: Problems, path: str = "") -> Pair | None:
    """Read a pair from two PEM texts. None, with problems on ``ssl_cert`` or ``ssl_key`` after `path`, if it is
    invalid.

    The certificate comes first, its chain after it. Pairs that today's TLS libraries refuse to serve are refused.
    """
    found = Problems()
    chain = _read_chain(cert, found, f"{path}ssl_cert")
    private = _read_key(key, found, f"{path}ssl_key")
    if chain and private and _public(chain[0]) != _public(private):
        found.add(f"{path}ssl_key", "The key does not fit the certificate.")
    problems.extend(found)
    if found or not chain or private is None:
        return None
    return Pair(
        cert=_pem(chain),
        key=private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
        common_name=_common_name(chain[0]),
        fingerprint=chain[0].fingerprint(hashes.SHA256()).hex(":").upper(),
    )


def _read_chain(text: str, problems: Problems, field: str) -> list[x509.Certificate]:
    try:
        chain = x509.load_pem_x509_certificates(text.encode()) if len(text) <= MAX_PEM_LENGTH else []
        # errors inside a certificate are only found when its fields are read
        weak = [isinstance(each.signature_hash_algorithm, WEAK) and each.issuer != each.subject for each in chain]
        short = [_too_short(each.public_key()) for each in chain]
        pss = chain[0].public_key_algorithm_oid == PublicKeyAlgorithmOID.RSASSA_PSS
        _common_name(chain[0])
        # HAProxy reads the chain with OpenSSL, which is stricter
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(cadata=_pem(chain))
    except (
        ValueError, IndexError, UnsupportedAlgorithm, ssl.SSLError,
        x509.InvalidVersion, x509.DuplicateExtension, x509.UnsupportedGeneralNameType,
    ):  # fmt: skip
        problems.add(field, "ssl_cert is not valid")
        return []
    if len(chain) > MAX_IN_CHAIN:
        problems.add(field, f"A certificate has at most {MAX_IN_CHAIN - 1} others in its chain.")
    if any(weak):
        problems.add(field, "A certificate is signed with MD5 or SHA-1, which browsers refuse.")
    if any(short):
        problems.add(field, "A certificate of the chain has a key that is too short: RSA has 2048 bits or more.")
    if pss:
        problems.add(field, "Certificates for RSA-PSS keys only are not served.")
    return chain


def _pem(chain: list[x509.Certificate]) -> str:
    return "".join(each.public_bytes(Encoding.PEM).decode() for each in chain)


def _too_short(key: object) -> bool:
    return any(isinstance(key, kind) and key.key_size < bits for kind, bits in WEAKEST)


def _read_key(text: str, problems: Problems, field: str) -> RSAPrivateKey | EllipticCurvePrivateKey | None:
    """Read and validate a key. Its size is checked first: validating a huge key takes minutes."""
    try:
        pem = text.encode() if len(text) <= MAX_PEM_LENGTH else b""
        key = load_pem_private_key(pem, None, unsafe_skip_rsa_key_validation=True)
        if isinstance(key, RSAPrivateKey) and key.key_size in RSA_BITS:
            load_pem_private_key(pem, None)
            return key
    except TypeError:
        problems.add(field, "The key must not be encrypted.")
        return None
    except (ValueError, UnsupportedAlgorithm):
        problems.add(field, "ssl_key is not valid")
        return None
    if isinstance(key, EllipticCurvePrivateKey) and isinstance(key.curve, CURVES):
        return key
    problems.add(field, "Keys are RSA of 2048 to 4096 bits, or of the curves P-256, P-384 and P-521.")
    return None


def _public(holder: x509.Certificate | RSAPrivateKey | EllipticCurvePrivateKey) -> bytes:
    return holder.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _common_name(certificate: x509.Certificate) -> str:
    """Return the subject's common name; without one, as often today, the first DNS name of the certificate.

    Raises `ValueError` for a name with a NUL character, which no column stores.
    """
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    if names:
        return _text(str(names[0].value))
    try:
        others = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ""
    return _text(next(iter(others.get_values_for_type(x509.DNSName)), ""))


def _text(name: str) -> str:
    if "\0" in name:
        raise ValueError(name)
    return name[:255]
