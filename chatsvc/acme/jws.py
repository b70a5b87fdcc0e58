"""JSON Web Signatures of ACME (RFC 7515, 7638): pure functions over a key on P-256."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature


def b64(data: bytes) -> str:
    """Encode as base64url without padding."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def jwk(key: ec.EllipticCurvePublicKey) -> dict[str, str]:
    """Return a public key as a JSON Web Key with its required members only."""
    numbers = key.public_numbers()
    return {"crv": "P-256", "kty": "EC", "x": b64(numbers.x.to_bytes(32)), "y": b64(numbers.y.to_bytes(32))}


def thumbprint(public: Mapping[str, str]) -> str:
    """Return the thumbprint (RFC 7638) of a key made by jwk()."""
    return b64(sha256(_json(dict(public))).digest())


def key_authorization(token: str, key: ec.EllipticCurvePrivateKey) -> str:
    """Return the key authorization of a challenge (RFC 8555, 8.1)."""
    return f"{token}.{thumbprint(jwk(key.public_key()))}"


def sign(key: ec.EllipticCurvePrivateKey, protected: Mapping[str, object], payload: object | None) -> bytes:
    """Sign a payload and its protected header with ES256. A payload of None is the empty one of POST-as-GET."""
    header, body = b64(_json(protected)), "" if payload is None else b64(_json(payload))
    r, s = decode_dss_signature(key.sign(f"{header}.{body}".encode(), ec.ECDSA(hashes.SHA256())))
    return _json({"protected": header, "payload": body, "signature": b64(r.to_bytes(32) + s.to_bytes(32))})
