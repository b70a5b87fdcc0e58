"""Signatures verify wherever GitHub's would, and sealed keys open nowhere but in their row."""

import re
import subprocess

import pytest

from chatsvc.domain.webhooks import build_headers, build_request, generate_signing_key, sign, verify
from chatsvc.store.master_key import MasterKey
from chatsvc.store.sealing import Unsealable, seal, unseal
from chatsvc.store.tables import SIGNING_KEYS

KEY = MasterKey(bytes(range(32)))
SECRET = "whsec_" + "A" * 43


def test_the_published_github_vector_comes_out() -> None:
    expected = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    assert sign("It's a Secret to Everybody", b"Hello, World!") == expected
    assert verify("It's a Secret to Everybody", b"Hello, World!", expected)


def test_openssl_verifies_a_signature() -> None:
    key, body = generate_signing_key(), b'{"event":"request.created"}'
    done = subprocess.run(["openssl", "dgst", "-sha256", "-hmac", key], input=body, capture_output=True, check=True)
    assert sign(key, body) == "sha256=" + done.stdout.decode().split()[-1]


@pytest.mark.parametrize(
    "signature",
    [
        *["", "sha256=", "sha256", "757107", "sha256=" + "0" * 64, "sha256=ı", "sha256=\udc80", "sha256=" + "0" * 9999],
        *[sign(SECRET, b"body").upper(), sign(SECRET, b"body "), sign(SECRET[:-1] + "B", b"body"), sign(SECRET[6:], b"body")],
    ],
)
def test_a_wrong_signature_is_refused_whatever_its_form(signature: str) -> None:
    assert verify(SECRET, b"body", sign(SECRET, b"body"))
    assert not verify(SECRET, b"body", signature)


def test_signing_keys_have_their_form_and_never_come_twice() -> None:
    keys = {generate_signing_key() for _ in range(1000)}
    assert len(keys) == 1000
    assert all(re.fullmatch(r"whsec_[A-Za-z0-9_-]{43}", key) for key in keys)


def test_the_body_is_json_without_spaces_and_the_headers_are_those_of_the_specification() -> None:
    body = build_request("request.created", "d-1", 1_795_176_868_123, "b-1", {"id": "r-1", "note": "Çay ☕ \n", "x": None, "is_test": True})
    assert body.decode() == (
        '{"event":"request.created","delivery_id":"d-1","created_at":"2026-11-20T12:14:28.123Z","bot_id":"b-1",'
        '"data":{"id":"r-1","note":"Çay ☕ \\n","x":null,"is_test":true}}'
    )
    assert build_headers("webhook.test", "d-1", sign(SECRET, b"{}")) == {
        "Content-Type": "application/json",
        "User-Agent": "Service-Webhooks/1.0",
        "X-Service-Event": "webhook.test",
        "X-Service-Delivery": "d-1",
        "X-Service-Signature": sign(SECRET, b"{}"),
    }


def test_another_key_row_or_any_changed_byte_is_told_without_the_secret() -> None:
    sealed = seal(KEY, SIGNING_KEYS, SECRET, "webhooks/b-1")
    assert unseal(KEY, SIGNING_KEYS, sealed, "webhooks/b-1") == SECRET
    assert SECRET.encode() not in sealed
    assert seal(KEY, SIGNING_KEYS, SECRET, "webhooks/b-1") != sealed
    wrong = [
        (MasterKey(bytes(32)), sealed, "webhooks/b-1"),
        (KEY, sealed, "webhooks/b-2"),
        (KEY, b"", "webhooks/b-1"),
        (KEY, b"\x01", "webhooks/b-1"),
    ]
    wrong += [(KEY, sealed[:-1], "webhooks/b-1"), (KEY, sealed + b"\0", "webhooks/b-1"), (KEY, b"\x02" + sealed[1:], "webhooks/b-1")]
    wrong += [(KEY, sealed[:i] + bytes([sealed[i] ^ 1]) + sealed[i + 1 :], "webhooks/b-1") for i in range(len(sealed))]
    for key, stored, row in wrong:
        with pytest.raises(Unsealable) as caught:
            unseal(key, SIGNING_KEYS, stored, row)
        assert row in str(caught.value)
        assert SECRET not in str(caught.value)
