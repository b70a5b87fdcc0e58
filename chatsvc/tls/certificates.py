"""Private keys, self-signed certificates, signing requests and validity periods. No file is read or written here."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_ACME_IDENTIFIER = x509.ObjectIdentifier("1.3.6.1.5.5.7.1.31")  # RFC 8737, section 6.1


def new_key() -> ec.EllipticCurvePrivateKey:
    """Make a private key on the curve P-256, which every client and authority supports."""
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Encode a key as unencrypted PEM."""
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def self_signed(names: Sequence[str], *, days: int, proof: bytes | None = None) -> tuple[bytes, bytes]:
    """Make a self-signed certificate for host names and IP addresses. Return the certificate and its key as PEM.

    `proof` is the digest of a TLS-ALPN-01 challenge (RFC 8737, section 3) that the certificate answers.
    """
    key = new_key()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "chatsvc")])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(_alternatives(names), critical=False)
    )
    if proof is not None:
        # The extension's value is an OCTET STRING of its own: tag, length, the 32 bytes.
        builder = builder.add_extension(x509.UnrecognizedExtension(_ACME_IDENTIFIER, b"\x04\x20" + proof), critical=True)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM), key_pem(key)


def signing_request(names: Sequence[str], key: ec.EllipticCurvePrivateKey) -> bytes:
    """Make a certificate signing request (PKCS #10, DER)."""
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).add_extension(_alternatives(names), critical=False)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)


def _alternatives(names: Sequence[str]) -> x509.SubjectAlternativeName:
    return x509.SubjectAlternativeName([_alternative(name) for name in names])


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


class Validity(NamedTuple):
    """Names of a certificate and its period of validity, in Unix seconds."""

    names: frozenset[str]
    begin: float
    end: float


def validity(pem: bytes) -> Validity:
    """Return names and validity of the first certificate in `pem`. Raise ValueError if there is none."""
    certificate = x509.load_pem_x509_certificates(pem)[0]
    try:
        alternatives = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        names = [*alternatives.get_values_for_type(x509.DNSName), *map(str, alternatives.get_values_for_type(x509.IPAddress))]
    except x509.ExtensionNotFound:
        names = []
    return Validity(frozenset(names), certificate.not_valid_before_utc.timestamp(), certificate.not_valid_after_utc.timestamp())
