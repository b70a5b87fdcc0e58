"""Address of a model's server, and the credential for it."""

from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Provider:
    """Server that speaks the Anthropic Messages API.

    `api_key` is None where the configured secret is missing, and empty for an on-prem server that needs none: no Authorization header
    is sent.
    """

    base_url: str
    api_key: str | None

    @classmethod
    def of(cls, base_url: str, api_key: str | None) -> Self:
        """Strip what the library adds itself (`/v1`); raises ValueError for no http(s) address."""
        stripped = base_url.strip().rstrip("/").removesuffix("/v1").rstrip("/")
        parts = urlsplit(stripped)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None or parts.query:
            raise ValueError("base_url must be an http or https address without user, password or query")
        return cls(stripped, None if api_key is None else api_key.strip())

    @property
    def is_hosted(self) -> bool:
        """Report whether it is the provider's own service, not an on-prem server."""
        host = urlsplit(self.base_url).hostname or ""
        return host == "anthropic.com" or host.endswith(".anthropic.com")

    @property
    def fault(self) -> str | None:
        """Return why no request can be sent to it; None if one can."""
        if self.api_key is None or (self.is_hosted and not self.api_key):
            return "no api_key"
        if not (self.api_key.isascii() and self.api_key.isprintable()):
            return "the api_key holds characters that no header can carry"
        url = urlsplit(self.base_url)
        try:
            _ = url.port, (url.hostname or "").encode("idna")
        except ValueError:
            return "base_url names no host and port"
        return None
