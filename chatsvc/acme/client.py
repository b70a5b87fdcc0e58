"""ACME client (RFC 8555) for account, order, challenges and certificate. It opens all ACME connections and signs requests (RFC 7515)."""

import asyncio
import json
import ssl
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from chatsvc.outbound.client import FAULTS, Answer, cause_of, exchange, open_session
from chatsvc.outbound.egress import Egress

REQUEST_TIMEOUT_S = 30.0
ORDER_TIMEOUT_S = 300.0
POLL_S = 1.0
MAX_POLL_S = 15.0
MAX_ANSWER = 1 << 20
NONCE_TRIES = 10  # an authority may refuse a valid nonce
_BAD_NONCE = "urn:ietf:params:acme:error:badNonce"
_MAX_TEXT = 300


class AcmeError(Exception):
    """The certificate authority cannot be reached or refuses, as the text explains. `retry_after_s` is the pause that it asks for."""

    def __init__(self, text: str, retry_after_s: float = 0.0) -> None:
        super().__init__(text)
        self.retry_after_s = retry_after_s


class Proof(NamedTuple):
    """Response to the challenge of a domain. For HTTP-01, `authorization` is served under `token`; for TLS-ALPN-01, its digest is used."""

    domain: str
    token: str
    authorization: str


Proving = Callable[[Sequence[Proof]], AbstractAsyncContextManager[None]]


def _object(answer: Answer) -> dict[str, Any]:
    """Decode the JSON body of an answer. Raise AcmeError if it is not an object."""
    try:
        value = json.loads(answer.body)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise AcmeError(f"the authority answered {answer.status} with something that is no JSON object")
    return value


class AcmeClient:
    """ACME client. `challenge` is the type of challenge that it can answer, such as `tls-alpn-01`."""

    def __init__(
        self, directory: str, key: ec.EllipticCurvePrivateKey, challenge: str, tls: ssl.SSLContext, egress: Egress | None = None
    ) -> None:
        self._directory_url = directory
        self._key = key
        self._challenge = challenge
        self._open_session = partial(open_session, egress or Egress(), "acme", tls)
        self._directory: dict[str, Any] = {}
        self._nonce: str | None = None
        self._account: str | None = None

    async def certificate(self, domains: Sequence[str], email: str | None, request: bytes, proving: Proving) -> bytes:
        """Obtain the certificate chain (PEM) for a signing request (DER); raises AcmeError.

        `proving` is a context manager that answers the challenges while it is entered.
        """
        try:
            async with asyncio.timeout(ORDER_TIMEOUT_S), self._open_session() as self._session:
                return await self._order(domains, email, request, proving)
        except TimeoutError:
            raise AcmeError("the authority took too long") from None
        except (KeyError, TypeError, AttributeError):
            raise AcmeError("the authority's answer is not what RFC 8555 has it be") from None

    async def _order(self, domains: Sequence[str], email: str | None, request: bytes, proving: Proving) -> bytes:
        answer = await self._send("GET", self._directory_url)
        if answer.status != 200:
            raise AcmeError(f"the authority answered {answer.status} when asked for its directory", _retry_after_s(answer))
        self._directory = _object(answer)
        # The account belongs to the key: an existing one is found, otherwise it is created.
        account: dict[str, Any] = {"termsOfServiceAgreed": True} | ({"contact": [f"mailto:{email}"]} if email else {})
        self._account = (await self._post(self._directory["newAccount"], account)).headers["Location"]
        wanted = {"identifiers": [{"type": "dns", "value": domain} for domain in domains]}
        answer = await self._post(self._directory["newOrder"], wanted)
        order_url, order = answer.headers["Location"], _object(answer)
        await self._authorize(order["authorizations"], proving)
        await self._poll(order_url, {"ready", "valid"})
        await self._post(order["finalize"], {"csr": b64(request)})
        order = await self._poll(order_url, {"valid"})
        return (await self._post(order["certificate"], None)).body

    async def _authorize(self, urls: Sequence[str], proving: Proving) -> None:
        proofs, challenges = [], dict[str, str]()
        for url in urls:
            authorization = _object(await self._post(url, None))
            if authorization["status"] == "valid":
                continue  # proved recently
            domain = authorization["identifier"]["value"]
            offered = next((each for each in authorization["challenges"] if each["type"] == self._challenge), None)
            if offered is None:
                raise AcmeError(f"the authority does not offer {self._challenge} for {domain}")
            proofs.append(Proof(domain, offered["token"], key_authorization(offered["token"], self._key)))
            challenges[url] = offered["url"]
        async with proving(proofs):
            for challenge in challenges.values():
                await self._post(challenge, {})
            for url in challenges:
                await self._poll(url, {"valid"})

    async def _poll(self, url: str, done: set[str]) -> dict[str, Any]:
        """Poll a resource until its status is one of `done`. Raise AcmeError if it can no longer reach one of them."""
        pause = POLL_S
        while True:
            answer = await self._post(url, None)
            resource = _object(answer)
            if resource["status"] in done:
                return resource
            if resource["status"] not in {"pending", "processing", "ready"}:
                raise AcmeError(_why(resource))
            await asyncio.sleep(min(max(pause, _retry_after_s(answer)), MAX_POLL_S))
            pause *= 1.5

    async def _post(self, url: str, payload: object | None) -> Answer:
        for _ in range(NONCE_TRIES):
            nonce = self._nonce or (await self._send("HEAD", self._directory["newNonce"])).headers["Replay-Nonce"]
            sender = {"kid": self._account} if self._account else {"jwk": jwk(self._key.public_key())}
            body = sign(self._key, {"alg": "ES256", "nonce": nonce, "url": url, **sender}, payload)
            answer = await self._send("POST", url, body)
            self._nonce = answer.headers.get("Replay-Nonce")
            if answer.status < 400:
                return answer
            problem = _object(answer)
            if problem.get("type") != _BAD_NONCE:
                raise AcmeError(f"the authority answered {answer.status}: {_worded(problem)}", _retry_after_s(answer))
        raise AcmeError("the authority refuses every nonce that it gives")

    async def _send(self, method: str, url: str, body: bytes | None = None) -> Answer:
        headers = {"Content-Type": "application/jose+json"} if body is not None else {}
        try:
            answer = await exchange(self._session, method, url, headers, body, most_bytes=MAX_ANSWER, timeout_s=REQUEST_TIMEOUT_S)
        except FAULTS as fault:
            raise AcmeError(f"the authority cannot be reached: {_line(str(cause_of(fault)) or type(fault).__name__)}") from None
        if not answer.whole:
            raise AcmeError("the authority's answer has no end")
        return answer


def _why(resource: dict[str, Any]) -> str:
    """Return one line that says why an order or an authorization failed."""
    faults = [resource.get("error"), *(entry.get("error") for entry in resource.get("challenges", ()))]
    reasons = "; ".join(_worded(fault) for fault in faults if isinstance(fault, dict))
    name = resource.get("identifier", {}).get("value")
    return f"{name or 'the order'} is {_line(str(resource['status']))}" + (f": {reasons}" if reasons else "")


def _worded(problem: dict[str, Any]) -> str:
    """Return a problem document (RFC 7807) as one line of text."""
    return _line(f"{problem.get('detail') or 'no reason given'} ({problem.get('type') or 'unknown'})")


def _line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)[:_MAX_TEXT]


def _retry_after_s(answer: Answer) -> float:
    try:
        return max(0.0, float(answer.headers.get("Retry-After", "")))
    except ValueError:
        return 0.0  # a date, or absent: the client's own pauses apply


def b64(data: bytes) -> str:
    """Encode as base64url without padding."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def jwk(key: ec.EllipticCurvePublicKey) -> dict[str, str]:
    """Return a public key as a JSON Web Key with its required members only."""
    numbers = key.public_numbers()
    return {"crv": "P-256", "kty": "EC", "x": b64(numbers.x.to_bytes(32)), "y": b64(numbers.y.to_bytes(32))}


def key_authorization(token: str, key: ec.EllipticCurvePrivateKey) -> str:
    """Return the key authorization of a challenge (RFC 8555, 8.1), which is the token and the key's thumbprint (RFC 7638)."""
    return f"{token}.{b64(sha256(_json(jwk(key.public_key()))).digest())}"


def sign(key: ec.EllipticCurvePrivateKey, protected: Mapping[str, object], payload: object | None) -> bytes:
    """Sign a payload and its protected header with ES256. If the payload is None, sign the empty payload of a POST-as-GET request."""
    header, body = b64(_json(protected)), "" if payload is None else b64(_json(payload))
    r, s = decode_dss_signature(key.sign(f"{header}.{body}".encode(), ec.ECDSA(hashes.SHA256())))
    return _json({"protected": header, "payload": body, "signature": b64(r.to_bytes(32) + s.to_bytes(32))})
