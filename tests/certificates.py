"""Self-signed certificates for tests."""

import ssl
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

BEGINS = datetime(2026, 1, 1)


def new_key(bits: int | None = None):
    """Return a private key: RSA with `bits` bits if given, else of the curve P-256."""
    return rsa.generate_private_key(65537, bits) if bits else ec.generate_private_key(ec.SECP256R1())


def certificate(
    key, common_name: str | None = "www.example.com", dns: str = "www.example.com", ca=None, others=()
) -> str:
    """Return a PEM certificate for the key, signed by itself or by `ca`'s key. `others` are more extensions."""
    names = [] if common_name is None else [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    issuer = [x509.NameAttribute(NameOID.COMMON_NAME, "ca")] if ca else names
    begun = (
        x509.CertificateBuilder()
        .subject_name(x509.Name(names))
        .issuer_name(x509.Name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(BEGINS)
        .not_valid_after(BEGINS + timedelta(days=3650))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(dns)]), critical=False)
    )
    for each in others:
        begun = begun.add_extension(each, critical=False)
    made = begun.sign(ca or key, hashes.SHA256())
    return made.public_bytes(Encoding.PEM).decode()


def pem(key, password: str | None = None) -> str:
    """Return the key as PEM."""
    protection = BestAvailableEncryption(password.encode()) if password else NoEncryption()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, protection).decode()


def bent(text: str, old: str, new: str) -> str:
    """Return a PEM certificate in which some bytes, given in hex, are replaced by others."""
    der = ssl.PEM_cert_to_DER_cert(text)
    assert bytes.fromhex(old) in der
    return ssl.DER_cert_to_PEM_cert(der.replace(bytes.fromhex(old), bytes.fromhex(new)))


def huge_key(bits: int) -> rsa.RSAPrivateKey:
    """Return an invalid RSA key of `bits` bits. Its factors are not primes, and checking them takes long."""
    p = (1 << bits // 2) - 1
    public = rsa.RSAPublicNumbers(e=65537, n=p * p)
    numbers = rsa.RSAPrivateNumbers(p=p, q=p, d=65537, dmp1=65537, dmq1=65537, iqmp=1, public_numbers=public)
    return numbers.private_key(unsafe_skip_rsa_key_validation=True)
