"""ACME's signatures, by the example of RFC 7515 (A.3)."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from chatsvc import acme

KEY = ec.derive_private_key(int.from_bytes(urlsafe_b64decode("jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI=")), ec.SECP256R1())


def test_a_public_key_is_told_by_its_two_numbers() -> None:
    assert acme.jwk(KEY.public_key()) == {
        "crv": "P-256",
        "kty": "EC",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    }


def test_the_authorization_is_the_token_and_the_thumbprint_of_the_key() -> None:
    """The thumbprint is the digest of the required members in the order of their names, without blanks."""
    public = (
        b'{"crv":"P-256","kty":"EC","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}'
    )
    token = "evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA"
    assert acme.key_authorization(token, KEY) == f"{token}.{urlsafe_b64encode(sha256(public).digest()).rstrip(b'=').decode()}"


def verify(body: bytes) -> tuple[object, object]:
    """Header and payload of a signed body; raises InvalidSignature."""
    parts = json.loads(body)
    assert set(parts) == {"protected", "payload", "signature"}
    signature = urlsafe_b64decode(parts["signature"] + "==")
    assert len(signature) == 64
    halves = int.from_bytes(signature[:32]), int.from_bytes(signature[32:])
    KEY.public_key().verify(encode_dss_signature(*halves), f"{parts['protected']}.{parts['payload']}".encode(), ec.ECDSA(hashes.SHA256()))
    header, payload = (urlsafe_b64decode(parts[name] + "==") for name in ("protected", "payload"))
    return json.loads(header), json.loads(payload) if payload else None


def test_what_is_signed_is_header_and_payload_and_no_payload_is_an_empty_one() -> None:
    header = {"alg": "ES256", "nonce": "n", "url": "https://a.example/ü"}
    for payload in ({"a": [1, "ş"]}, {}, None):
        assert verify(acme.sign(KEY, header, payload)) == (header, payload)
    changed = {**json.loads(acme.sign(KEY, header, {})), "payload": acme.b64(b'{"b":1}')}
    with pytest.raises(InvalidSignature):
        verify(json.dumps(changed).encode())
