"""Required properties of a monitored certificate. Every supported Python gives the same verdicts."""

import asyncio
import ipaddress
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from managed.prober import checks, tls
from managed.services.probing import Outcome, Probe
from tests.managed.servers import Server, answer

HERE = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
ELSEWHERE = x509.SubjectAlternativeName([x509.DNSName("elsewhere.example")])
FOR_CLIENTS = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
IS_AUTHORITY = x509.BasicConstraints(ca=True, path_length=None)
SIGNS_CERTIFICATES = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
SIGNS_DATA = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
TIMEOUT = 120
"""Seconds. A check on this machine takes a moment, and no verdict depends on the limit."""


@dataclass
class Holder:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)


@dataclass
class Request:
    """A certificate to be signed. Its defaults are what RFC 5280 demands of a server's certificate."""

    name: str = "A server"
    extensions: Sequence[x509.ExtensionType] = (HERE,)
    key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )
    days: tuple[int, int] = (-30, 30)
    critical: bool = True
    identifies_keys: bool = True

    def signed(self, issuer: Holder | None = None) -> Holder:
        """Sign with the issuer's key, or with the certificate's own."""
        public, signing = self.key.public_key(), issuer.key if issuer else self.key
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, self.name)])
        begin, end = (datetime.now(UTC) + timedelta(days=each) for each in self.days)
        name = issuer.certificate.subject if issuer else subject
        builder = x509.CertificateBuilder(name, subject, public, x509.random_serial_number(), begin, end)
        extensions = list(self.extensions)
        if self.identifies_keys:
            extensions += [
                x509.SubjectKeyIdentifier.from_public_key(public),
                x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()),
            ]
        for extension in extensions:
            may_be_critical = isinstance(extension, x509.BasicConstraints | x509.KeyUsage)
            builder = builder.add_extension(extension, critical=self.critical and may_be_critical)
        return Holder(builder.sign(signing, hashes.SHA256()), self.key)


def authority(name: str = "An authority", **options) -> Request:
    extensions = (IS_AUTHORITY, SIGNS_CERTIFICATES)
    return Request(name, **{"extensions": extensions, **options})


@pytest.fixture
def ask(tmp_path, settings, monkeypatch):
    """Return a function that checks a server with certificates, of which one is trusted. Flags may be added."""
    settings.PROBE_ALLOWED = [ipaddress.ip_network("127.0.0.0/8")]

    def ask(
        trusted: Holder,
        shown: Holder,
        *others: Holder,
        host: str = "127.0.0.1",
        strict: bool = False,
        newest: ssl.TLSVersion = ssl.TLSVersion.MAXIMUM_SUPPORTED,
    ) -> Outcome:
        store = tmp_path / "authorities.pem"
        store.write_bytes(trusted.pem)
        context = tls.make_context(store)
        if strict:
            context.verify_flags |= ssl.VERIFY_X509_STRICT
        monkeypatch.setattr(tls, "shared_context", lambda: context)
        with Server(answer(), context=_server(tmp_path / "server.pem", shown, others, newest)) as server:
            url = f"https://{host}:{server.port}/"
            probe = Probe(1, 1, 1, datetime.now(UTC), "url", url, "", TIMEOUT, False)
            return asyncio.run(checks.check(probe))

    return ask


def _server(path: Path, shown: Holder, others: Sequence[Holder], newest: ssl.TLSVersion) -> ssl.SSLContext:
    """Make the context of a server, which may do what checks refuse."""
    private = shown.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(private + shown.pem + b"".join(each.pem for each in others))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version, context.maximum_version = ssl.TLSVersion.MINIMUM_SUPPORTED, newest
    context.load_cert_chain(path)
    return context


# --- not demanded, although `VERIFY_X509_STRICT` does -----------------------------------------------------------


@pytest.mark.parametrize(
    ("of_authority", "of_server", "complaint"),
    [
        ({}, {"identifies_keys": False}, "Missing Authority Key Identifier"),
        ({"identifies_keys": False}, {}, "Missing Subject Key Identifier"),
        ({"critical": False}, {}, "Basic Constraints of CA cert not marked critical"),
        (
            {"extensions": (IS_AUTHORITY,)},
            {},
            "CA cert does not include key usage extension",
        ),
    ],
)
def test_a_property_that_only_strict_verification_demands_may_be_missing(ask, of_authority, of_server, complaint):
    trusted = authority(**of_authority).signed()
    server = Request(**of_server).signed(trusted)
    assert ask(trusted, server).up
    assert ask(trusted, server, strict=True).error == f"its certificate is not valid: {complaint}", "it is missing"


def test_flags_are_those_of_the_module_and_no_others_of_a_python():
    flags = tls.make_context().verify_flags
    assert flags == ssl.VERIFY_X509_TRUSTED_FIRST | ssl.VERIFY_X509_PARTIAL_CHAIN


def test_an_intermediate_authority_in_the_store_is_trusted_without_its_root(ask):
    root = authority("A root").signed()
    intermediate = authority("An intermediate").signed(root)
    assert ask(intermediate, Request().signed(intermediate), intermediate).up


def test_a_name_in_the_subject_counts_where_no_other_names_are_given(ask, dns):
    dns.names["shop.example"] = ["127.0.0.1"]
    trusted = authority().signed()
    assert ask(trusted, Request("shop.example", ()).signed(trusted), host="shop.example").up
    outcome = ask(trusted, Request("shop.example", (ELSEWHERE,)).signed(trusted), host="shop.example")
    assert "Hostname mismatch" in outcome.error


def test_a_complete_certificate_and_chain_are_good_to_strict_verification_too(ask):
    root = authority("A root").signed()
    intermediate = authority("An intermediate").signed(root)
    assert ask(root, Request().signed(intermediate), intermediate, strict=True).up


# --- demanded ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("of_server", "complaint"),
    [
        ({"days": (-30, -1)}, "certificate has expired"),
        ({"days": (1, 30)}, "certificate is not yet valid"),
        ({"extensions": (ELSEWHERE,)}, "IP address mismatch"),
        ({"extensions": (HERE, FOR_CLIENTS)}, "unsuitable certificate purpose"),
        ({"key": rsa.generate_private_key(65537, 1024)}, "EE certificate key too weak"),
    ],
    ids=["expired", "not yet valid", "another name", "not for servers", "a short key"],
)
def test_a_property_that_is_demanded(ask, of_server, complaint):
    trusted = authority().signed()
    outcome = ask(trusted, Request(**of_server).signed(trusted))
    assert outcome.error.startswith(f"its certificate is not valid: {complaint}"), "newer OpenSSL may add words"


def test_the_chain_must_be_complete(ask):
    root = authority("A root").signed()
    intermediate = authority("An intermediate").signed(root)
    server = Request().signed(intermediate)
    assert ask(root, server, intermediate).up
    assert ask(root, server).error == "its certificate is not valid: unable to get local issuer certificate"


@pytest.mark.parametrize(
    "extensions",
    [(), (x509.BasicConstraints(ca=False, path_length=None),), (IS_AUTHORITY, SIGNS_DATA)],
    ids=["none", "not an authority", "another use"],
)
def test_each_issuer_must_be_an_authority(ask, extensions):
    root = authority("A root").signed()
    issuer = Request("Not an authority", extensions).signed(root)
    outcome = ask(root, Request().signed(issuer), issuer)
    assert outcome.error.startswith("its certificate is not valid: "), outcome


def test_an_issuer_must_be_known(ask):
    unknown = authority("Somebody").signed()
    outcome = ask(authority().signed(), Request().signed(unknown), unknown)
    assert outcome.error == "its certificate is not valid: self-signed certificate in certificate chain"


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")  # old versions are deprecated, which is why they are refused
def test_tls_1_2_is_the_oldest_version(ask):
    trusted = authority().signed()
    server = Request().signed(trusted)
    assert ask(trusted, server, newest=ssl.TLSVersion.TLSv1_2).up
    assert ask(trusted, server, newest=ssl.TLSVersion.TLSv1_1).error == "the TLS handshake failed"


def test_ciphers_do_not_depend_on_how_a_python_was_built():
    names = {each["name"] for each in tls.make_context().get_ciphers()}
    assert {"TLS_AES_256_GCM_SHA384", "ECDHE-RSA-AES128-GCM-SHA256", "AES128-GCM-SHA256", "AES128-SHA"} <= names
