"""Real servers on this machine for checks: HTTP and TCP with chosen behaviour, TLS, and a DNS server.

Each runs in a thread of its own and ends with its ``with`` block.
"""

import ipaddress
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dns.flags
import dns.message
import dns.rcode
import dns.rrset
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

Behaviour = Callable[[socket.socket], None]
"""The behaviour of a server on one connection, after the request was read."""


class Server:
    """A TCP server that answers each connection by `behave`. `seen` are the first lines of the requests."""

    def __init__(self, behave: Behaviour, *, reads: bool = True, context: ssl.SSLContext | None = None, port=0):
        self.behave, self.reads, self.context = behave, reads, context
        self.seen: list[str] = []
        self.requests: list[str] = []
        self.connections = 0
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"{'https' if self.context else 'http'}://127.0.0.1:{self.port}/"

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *exception) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # close() alone would accept one more connection
        self._listener.close()
        for connection in self._open:
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            connection.settimeout(600)
            if self.context is not None:
                connection = self.context.wrap_socket(connection, server_side=True)
            if self.reads:
                request = b""
                while b"\r\n\r\n" not in request and (part := connection.recv(65536)):
                    request += part
                self.requests.append(request.decode("latin-1"))
                self.seen.append(request.split(b"\r\n")[0].decode("latin-1"))
            self.behave(connection)
        except (OSError, ValueError):
            pass  # the client has gone, which is what tests try
        finally:
            connection.close()


def answer(body: bytes = b"hello", status: str = "200 OK", *headers: str, length: int | None = None) -> Behaviour:
    """Return the behaviour that sends a complete HTTP answer."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}", *headers]
    return raw("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)


def raw(content: bytes) -> Behaviour:
    """Return the behaviour that sends these bytes."""
    return lambda connection: connection.sendall(content)


def redirect(where: str, status: str = "302 Found") -> Behaviour:
    return answer(b"", status, f"Location: {where}")


def drip(first: bytes, then: bytes, every: float, most: int = 1000) -> Behaviour:
    """Return the behaviour that sends `first` at once, and then `then` again and again."""

    def behave(connection: socket.socket) -> None:
        connection.sendall(first)
        for _ in range(most):
            time.sleep(every)
            connection.sendall(then)

    return behave


def silence(seconds: float = 600) -> Behaviour:
    """Return the behaviour that sends nothing until the client has closed the connection."""

    def behave(connection: socket.socket) -> None:
        connection.settimeout(seconds)
        while connection.recv(4096):
            pass

    return behave


def reset(connection: socket.socket) -> None:
    """Reset the connection (RST)."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@contextmanager
def silent_server() -> Iterator[int]:
    """Yield the port of a server whose queue of connections is full, so that it accepts no more."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", port))
        yield port
        for each in waiting:
            each.close()


class Authority:
    """A certificate authority in a folder."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Test Authority")])
        ca = x509.BasicConstraints(ca=True, path_length=None)
        self.certificate = self._sign(self._name, self._key.public_key(), (ca,), self._key)
        self.path = folder / "authority.pem"
        self.path.write_bytes(self.certificate.public_bytes(Encoding.PEM))

    def server(self, name: str, *, expired: bool = False, self_signed: bool = False) -> ssl.SSLContext:
        """Return the context of a server that shows a certificate for `name`."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        try:
            alternative: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(name))
        except ValueError:
            alternative = x509.DNSName(name)
        extensions = (x509.SubjectAlternativeName([alternative]),)
        signed = self._sign(subject, key.public_key(), extensions, key if self_signed else self._key, expired)
        path = self.folder / f"{name}-{expired}-{self_signed}.pem"
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        path.write_bytes(private + signed.public_bytes(Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context

    def _sign(self, subject, public, extensions, key, expired: bool = False) -> x509.Certificate:
        end = datetime.now(UTC) + timedelta(days=-1 if expired else 1)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject if key.public_key() == public else self._name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(end - timedelta(days=30))
            .not_valid_after(end)
        )
        for extension in extensions:
            builder = builder.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
        return builder.sign(key, hashes.SHA256())


class NameServer:
    """A DNS server. `names` maps each name to its addresses, or to a list of such answers given in turn.

    An unknown name does not exist. A name with the value None is never answered, and neither are names and
    types in `silent`. For the names in `broken`, the server fails. As on real servers, an answer that is too
    long for a datagram is sent over TCP.
    """

    DATAGRAM = 512

    def __init__(self) -> None:
        self.names: dict[str, list[str] | list[list[str]] | None] = {}
        self.asked: list[tuple[str, str]] = []
        self.silent: set[tuple[str, str]] = set()
        self.broken: set[tuple[str, str]] = set()
        self._turns: dict[tuple[str, str], int] = {}
        self._stream, self._socket = self._listen()
        self.setting = f"127.0.0.1@{self._stream.port}"
        threading.Thread(target=self._serve, daemon=True).start()

    def __enter__(self) -> "NameServer":
        return self

    def __exit__(self, *exception) -> None:
        self._stream.__exit__(*exception)
        # close() does not close a socket that a thread reads from
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as waker:
            waker.sendto(b"", self._socket.getsockname())

    def _listen(self) -> tuple[Server, socket.socket]:
        """Listen for streams and datagrams, on one port that is free for both."""
        while True:
            stream, datagrams = Server(self._answer, reads=False), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            try:
                datagrams.bind(("127.0.0.1", stream.port))
            except OSError:
                stream.__exit__()
                datagrams.close()
            else:
                return stream, datagrams

    def _serve(self) -> None:
        with self._socket:
            while True:
                wire, client = self._socket.recvfrom(4096)
                if not wire:
                    return
                query = dns.message.from_wire(wire)
                reply = self._reply(query)
                if reply is not None and len(reply.to_wire()) > self.DATAGRAM:
                    reply.answer.clear()
                    reply.flags |= dns.flags.TC
                if reply is not None:
                    self._socket.sendto(reply.to_wire(), client)

    def _answer(self, connection: socket.socket) -> None:
        length = struct.unpack("!H", connection.recv(2, socket.MSG_WAITALL))[0]
        reply = self._reply(dns.message.from_wire(connection.recv(length, socket.MSG_WAITALL)))
        if reply is not None:
            wire = reply.to_wire()
            connection.sendall(struct.pack("!H", len(wire)) + wire)

    def _reply(self, query: dns.message.Message) -> dns.message.Message | None:
        question = query.question[0]
        name, kind = question.name.to_text(omit_final_dot=True).lower(), question.rdtype.name
        self.asked.append((name, kind))
        reply = dns.message.make_response(query)
        reply.flags |= dns.flags.RA
        if name not in self.names:
            reply.set_rcode(dns.rcode.NXDOMAIN)
            return reply
        found = self.names[name]
        if found is None or (name, kind) in self.silent:
            return None
        if (name, kind) in self.broken:
            reply.set_rcode(dns.rcode.SERVFAIL)
            return reply
        if found and isinstance(found[0], list):
            turn = self._turns[name, kind] = self._turns.get((name, kind), -1) + 1
            found = found[min(turn, len(found) - 1)]
        version = {"A": 4, "AAAA": 6}[kind]
        texts = [text for text in found if ipaddress.ip_address(text).version == version]
        if texts:
            reply.answer.append(dns.rrset.from_text(question.name, 0, "IN", kind, *texts))
        return reply
