"""Outbound TLS: a certificate that is not trusted is told apart, and a private authority can be trusted."""

import datetime
import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pytest_django import Settings

from healthsvc.kernel.http import OutboundError, OutboundFailure, fetch
from tests.databases import ROOT

_ANSWER = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Certificate:
    """A self-signed certificate for 127.0.0.1, and its key."""

    certificate: Path
    key: Path


@pytest.fixture
def certificate(tmp_path: Path) -> Certificate:
    """Made anew for each test."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "receiver")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    found = Certificate(tmp_path / "certificate.pem", tmp_path / "key.pem")
    found.certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    found.key.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return found


@contextmanager
def serving(certificate: Certificate | None) -> Iterator[str]:
    """The origin of a server; without a certificate one that hangs up before the handshake."""
    context = None
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate.certificate, certificate.key)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_serve, args=(listener, context), daemon=True)
        thread.start()
        yield f"https://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def _serve(listener: socket.socket, context: ssl.SSLContext | None) -> None:
    while True:
        try:
            connected, _ = listener.accept()
        except OSError:
            return  # the test is over
        with connected:
            if context is None:
                continue
            try:
                with context.wrap_socket(connected, server_side=True) as wrapped:
                    wrapped.recv(65_536)
                    wrapped.sendall(_ANSWER)
            except (ssl.SSLError, ConnectionError):
                continue  # the client trusted it not


def failure(url: str) -> OutboundFailure:
    """Why there is no reply."""
    with pytest.raises(OutboundError) as caught:
        fetch("POST", f"{url}/hook", timeout_seconds=5, body=b"{}")
    return caught.value.kind


def test_a_certificate_that_is_not_trusted(certificate: Certificate, settings: Settings) -> None:
    with serving(certificate) as url:
        settings.LOOPBACK_ORIGINS = [url]
        assert failure(url) is OutboundFailure.TLS


def test_a_server_that_speaks_no_tls(settings: Settings) -> None:
    with serving(None) as url:
        settings.LOOPBACK_ORIGINS = [url]
        assert failure(url) is OutboundFailure.CONNECTION


@pytest.mark.slow
def test_a_private_authority_is_trusted_where_the_environment_names_it(certificate: Certificate) -> None:
    program = (
        "import sys, django; django.setup(); from healthsvc.kernel.http import fetch;"
        "print(fetch('POST', sys.argv[1], timeout_seconds=5, body=b'{}').status)"
    )
    with serving(certificate) as url:
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "healthsvc.settings",
            "SSL_CERT_FILE": str(certificate.certificate),
            "HEALTHSVC_LOOPBACK_ORIGINS": url,
        }
        done = subprocess.run(
            [sys.executable, "-c", program, url], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
    assert done.stdout == "204\n", done.stderr
