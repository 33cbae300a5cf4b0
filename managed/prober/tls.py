"""The TLS settings of checks, which judge certificates alike on every supported Python.

`ssl.create_default_context` is not used. Its flags differ between Python 3.12 and 3.13, and its ciphers differ
between builds of Python. docs/decisions/certificates.md lists the requirements on a certificate, with the reasons.
"""

import ssl
from functools import cache
from pathlib import Path

FLAGS = ssl.VERIFY_X509_TRUSTED_FIRST | ssl.VERIFY_X509_PARTIAL_CHAIN
"""Every certificate in the system's store is trusted, intermediate ones too. `VERIFY_X509_STRICT` is not set."""
CIPHERS = "DEFAULT:@SECLEVEL=2"
"""All ciphers that OpenSSL enables by default, with RSA keys of at least 2048 bits and without SHA-1 signatures."""


def make_context(authorities: Path | None = None) -> ssl.SSLContext:
    """Make the context of a check's connections. It trusts `authorities`, a PEM file, or those of the system."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(CIPHERS)
    context.verify_flags = FLAGS
    if authorities is None:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    else:
        context.load_verify_locations(authorities)
    return context


@cache
def shared_context() -> ssl.SSLContext:
    """Return the context that all checks of a process share: loading the authorities takes longer than a check."""
    return make_context()
