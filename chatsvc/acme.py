"""Certificates by ACME (RFC 8555): a client that obtains a certificate, and a manager that renews it in time.

The client opens all ACME connections and signs requests (RFC 7515). Until there is a certificate, the manager uses a temporary one.
"""

import asyncio
import json
import logging
import re
import ssl
import time
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from chatsvc.config.model import Acme
from chatsvc.domain.errors import CommandError
from chatsvc.outbound.client import FAULTS, Answer, cause_of, exchange, open_session
from chatsvc.outbound.egress import Egress
from chatsvc.store.folder import write_private
from chatsvc.tls import certificates
from chatsvc.tls.server_tls import ServerTls

log = logging.getLogger(__name__)

REQUEST_TIMEOUT_S = 30.0
ORDER_TIMEOUT_S = 300.0
POLL_S = 1.0
MAX_POLL_S = 15.0
MAX_ANSWER = 1 << 20
NONCE_TRIES = 10  # an authority may refuse a valid nonce
_BAD_NONCE = "urn:ietf:params:acme:error:badNonce"
_MAX_TEXT = 300
ACCOUNT_KEY, CERTIFICATE = "account.key", "certificate.pem"
LOOK_EVERY_S = 3600.0  # the wall clock may be corrected or suspended meanwhile
RETRY_S, MAX_RETRY_S = 120.0, 6 * 3600.0
TEMPORARY_DAYS = 30


class AcmeError(Exception):
    """Raised if the certificate authority cannot be reached or refuses a request. `retry_after_s` is the pause that it asks for."""

    def __init__(self, text: str, retry_after_s: float = 0.0) -> None:
        super().__init__(text)
        self.retry_after_s = retry_after_s


class Proof(NamedTuple):
    """Response to a domain's challenge. HTTP-01 serves `authorization` under `token`; TLS-ALPN-01 uses the digest of `authorization`."""

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
        """Poll an order or authorization until its status is in `done`. Raise AcmeError if it has failed."""
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


class CertificateManager:
    """Manager that obtains and renews the certificate of `server_tls`. `due` is the time of the next renewal, in Unix seconds.

    `tokens` contains the HTTP-01 responses that a listener on port 80 serves. If it is None, there is no such listener and TLS-ALPN-01
    is used.
    """

    def __init__(
        self,
        settings: Acme,
        folder: Path,
        server_tls: ServerTls,
        tls: ssl.SSLContext,
        tokens: dict[str, str] | None = None,
        clock: Callable[[], float] = time.time,
        egress: Egress | None = None,
    ) -> None:
        self._settings, self._server_tls, self._tls, self._tokens, self._clock = settings, server_tls, tls, tokens, clock
        self._egress = egress
        # Each authority has its own account and certificates.
        self._folder = folder / re.sub(r"[^A-Za-z0-9.-]+", "_", settings.directory.partition("://")[2])
        self._names = ", ".join(settings.domains)
        self.due = 0.0

    def open(self) -> None:
        """Use the stored certificate, or a temporary self-signed one. Raise CommandError if the folder cannot be used."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._account_key()
        except (OSError, ValueError) as fault:
            raise CommandError(f"what is kept for ACME in {self._folder} cannot be used: {fault}") from None
        try:
            self._server_tls.use_files(self._folder / CERTIFICATE)
            self.due = self._due_at((self._folder / CERTIFICATE).read_bytes())
        except FileNotFoundError:
            log.info("no certificate yet: until %s has issued one, clients get a self-signed one", self._settings.directory)
            self._use_temporary()
        except (OSError, ValueError) as fault:
            log.error("the certificate in %s cannot be used, another is asked for: %s", self._folder, fault)
            self._use_temporary()

    def _use_temporary(self) -> None:
        self._server_tls.use_pem(b"".join(certificates.self_signed(self._settings.domains, days=TEMPORARY_DAYS)))

    def _due_at(self, pem: bytes) -> float:
        """Return when to renew a certificate, in Unix seconds. That is when a third of its life is left, or 0 if its names are wrong."""
        names, begin, end = certificates.validity(pem)
        return end - (end - begin) / 3 if names == set(self._settings.domains) else 0.0

    async def run(self) -> None:
        """Renew the certificate whenever it is due, until the task is cancelled. Failures are retried with back-off."""
        pause_s = RETRY_S
        while True:
            wait_s = self.due - self._clock()
            if wait_s > 0:
                await asyncio.sleep(min(wait_s, LOOK_EVERY_S))
                continue
            try:
                await self.renew()
                pause_s = RETRY_S
            except (AcmeError, OSError) as fault:
                asked_s = fault.retry_after_s if isinstance(fault, AcmeError) else 0.0
                wait_s = min(max(pause_s, asked_s), MAX_RETRY_S)
                log.error("no certificate for %s: %s; tried again in %d s", self._names, fault, wait_s)
                await asyncio.sleep(wait_s)
                pause_s *= 2

    async def renew(self) -> None:
        """Obtain a certificate and use it. Raise AcmeError, or OSError for the account key; the previous certificate then stays in use."""
        settings, key = self._settings, certificates.new_key()
        log.info("asking %s for a certificate for %s", settings.directory, self._names)
        kind = "tls-alpn-01" if self._tokens is None else "http-01"
        client = AcmeClient(settings.directory, self._account_key(), kind, self._tls, self._egress)
        request = certificates.signing_request(settings.domains, key)
        chain = await client.certificate(settings.domains, settings.email, request, self._proving)
        pem = certificates.key_pem(key) + chain
        try:
            due = self._due_at(chain)
            if due <= self._clock():
                raise AcmeError("what the authority issued is for other names or has run out: is this machine's clock right?")
            self._server_tls.use_pem(pem)
        except (OSError, ValueError):
            raise AcmeError("what the authority issued is no certificate for the key that it was asked to sign") from None
        self.due = due
        try:
            await asyncio.to_thread(write_private, self._folder / CERTIFICATE, pem)
        except OSError as fault:
            # It is in use; requesting another now would only count against the authority's limits.
            log.error("the new certificate cannot be stored, another will be asked for at the next start: %s", fault)
        end = time.gmtime(certificates.validity(chain).end)
        log.info("certificate for %s issued, good until %s UTC", self._names, time.strftime("%Y-%m-%d %H:%M", end))

    @asynccontextmanager
    async def _proving(self, proofs: Sequence[Proof]) -> AsyncIterator[None]:
        try:
            if self._tokens is not None:
                self._tokens.update({proof.token: proof.authorization for proof in proofs})
            else:
                digests = {proof.domain: sha256(proof.authorization.encode()).digest() for proof in proofs}
                certified = {name: certificates.self_signed([name], days=1, proof=digest) for name, digest in digests.items()}
                self._server_tls.set_challenges({name: b"".join(pems) for name, pems in certified.items()})
            yield
        finally:
            if self._tokens is not None:
                self._tokens.clear()
            self._server_tls.set_challenges({})

    def _account_key(self) -> ec.EllipticCurvePrivateKey:
        file = self._folder / ACCOUNT_KEY
        if not file.exists():
            write_private(file, certificates.key_pem(certificates.new_key()))
        key = load_pem_private_key(file.read_bytes(), None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError(f"{ACCOUNT_KEY} is no key on P-256")
        return key
