"""Server of a model: its platform, its address, and the credential for it."""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Self
from urllib.parse import urlsplit

ANTHROPIC = "https://api.anthropic.com"

_PACKAGES = {"bedrock": "boto3", "vertex": "google.auth"}
"""Packages by which the library signs requests to a platform; the extra of this program has the platform's name."""


@dataclass(frozen=True, slots=True)
class Provider:
    """Server that speaks the Anthropic Messages API, or a platform that offers it in its own way.

    `base_url` is empty for the usual address of Bedrock or Vertex in `region`. `api_key` is None if the configured secret is missing,
    and empty for an on-prem server that needs none: no Authorization header is sent. Bedrock without a key, and Vertex, take the
    credentials of the machine; Vertex takes those of a `project`.
    """

    platform: str
    base_url: str
    api_key: str | None
    region: str
    project: str

    @classmethod
    def of(
        cls, base_url: str, api_key: str | None, platform: str = "anthropic", region: str | None = None, project: str | None = None
    ) -> Self:
        """Create a provider without `/v1` in its address, which the library adds. Raises ValueError for an invalid address."""
        stripped = base_url.strip().rstrip("/")
        parts = urlsplit(stripped)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None or parts.query:
            raise ValueError("base_url must be an http or https address without user, password or query")
        if platform not in _PACKAGES:
            stripped = stripped.removesuffix("/v1").rstrip("/")
        elif stripped == ANTHROPIC:
            stripped = ""  # the default, which is not meant
        return cls(platform, stripped, None if api_key is None else api_key.strip(), region or "", project or "")

    @property
    def is_hosted(self) -> bool:
        """Return whether the server is the provider's own service or a platform, not an on-prem server."""
        host = urlsplit(self.base_url).hostname or ""
        return self.platform != "anthropic" or host == "anthropic.com" or host.endswith(".anthropic.com")

    @property
    def needs_key(self) -> bool:
        return self.platform not in _PACKAGES

    @property
    def missing(self) -> str | None:
        """Return a sentence with the command that installs the packages for the platform, or None if no package is missing."""
        package = None if self.api_key else _PACKAGES.get(self.platform)
        try:
            if package is None or find_spec(package) is not None:
                return None
        except ModuleNotFoundError:  # of the package around it
            pass
        return f"the platform {self.platform} needs further packages: pip install 'chatsvc[{self.platform}]'"

    @property
    def fault(self) -> str | None:
        """Return why no request can be sent to the server, or None if requests can be sent."""
        if self.needs_key and (self.api_key is None or (self.is_hosted and not self.api_key)):
            return "no api_key"
        if self.api_key is not None and not (self.api_key.isascii() and self.api_key.isprintable()):
            return "the api_key holds characters that no header can carry"
        url = urlsplit(self.base_url)
        try:
            _ = url.port, (url.hostname or "").encode("idna")
        except ValueError:
            return "base_url names no host and port"
        return self.missing
