"""A certificate authority for tests, and the certificates that servers show."""

import datetime
import ssl
import tempfile
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = datetime.timedelta(days=1)
HOSTS = ("localhost", "127.0.0.1", "::1")


class Authority:
    """Signs what its servers show; `pem` is what a client that trusts it is given."""

    def __init__(self, name: str = "Test authority") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        own = self._builder(self._name, self._key, DAY).add_extension(x509.BasicConstraints(True, None), critical=True)
        self._certificate = own.sign(self._key, hashes.SHA256())

    @property
    def pem(self) -> str:
        """Its own certificate."""
        return _pem(self._certificate).decode()

    def server(self, hosts: tuple[str, ...] = HOSTS, life: datetime.timedelta = DAY) -> ssl.SSLContext:
        """What a server of these hosts needs; a life that is negative has ended."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0])])
        named = x509.SubjectAlternativeName([_general(host) for host in hosts])
        certificate = self._builder(name, key, life).add_extension(named, critical=False)
        return _context(_pem(certificate.sign(self._key, hashes.SHA256())), key)

    def _builder(
        self, name: x509.Name, key: ec.EllipticCurvePrivateKey, life: datetime.timedelta
    ) -> x509.CertificateBuilder:
        end = datetime.datetime.now(datetime.UTC) + life
        builder = x509.CertificateBuilder().subject_name(name).issuer_name(self._name).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number())
        return builder.not_valid_before(end - 3 * DAY).not_valid_after(end)


def _general(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _context(certificate: bytes, key: ec.EllipticCurvePrivateKey) -> ssl.SSLContext:
    """Python reads a chain from files only."""
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        chain = Path(folder) / "chain.pem"
        chain.write_bytes(key.private_bytes(*form) + certificate)
        context.load_cert_chain(chain)
    return context
