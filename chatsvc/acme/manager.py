"""Certificate manager. It loads the stored certificate and renews it in time. Until there is one, it uses a temporary certificate."""

import asyncio
import logging
import re
import ssl
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from chatsvc.acme.client import AcmeClient, AcmeError, Proof
from chatsvc.config.model import Acme
from chatsvc.domain.errors import CommandError
from chatsvc.outbound.egress import Egress
from chatsvc.store.folder import write_private
from chatsvc.tls import certificates
from chatsvc.tls.server_tls import ServerTls

log = logging.getLogger(__name__)

ACCOUNT_KEY, CERTIFICATE = "account.key", "certificate.pem"
LOOK_EVERY_S = 3600.0  # the wall clock may be corrected or suspended meanwhile
RETRY_S, MAX_RETRY_S = 120.0, 6 * 3600.0
TEMPORARY_DAYS = 30


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
        """Return when to renew: once a third of the certificate's life is left, or at once if it is for other names (Unix seconds)."""
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
        """Obtain a certificate and use it. On AcmeError, or OSError for the account key, continue with the previous one."""
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
