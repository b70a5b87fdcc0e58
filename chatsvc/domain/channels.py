"""Channels of a bot: the web widget and the messaging platforms, with their settings.

Each platform has a folder in chatsvc/platforms. The folder's `Platform` object describes the platform to the service.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from chatsvc.domain.refusals import Refused


class PlatformServer(NamedTuple):
    """The option in `channels.NAME` that sets a platform's server, and its default address."""

    option: str
    url: str


# Each messaging platform has a folder of its own in chatsvc/platforms.
PLATFORMS = {
    "telegram": PlatformServer("api_url", "https://api.telegram.org"),
    "whatsapp": PlatformServer("graph_url", "https://graph.facebook.com/v26.0"),
}
# Platforms on which a visitor can be reached without further contact data.
REACHING = frozenset({"whatsapp"})
WEB = "web"
SETTABLE = (WEB, *PLATFORMS)
ACTIVE, PAUSED, NEEDS_SECRET = STATES = ("active", "paused", "needs_secret")
DELIVERIES = ("queued", "sent", "delivered", "read", "failed", "unknown")
# A status of delivery that a platform tells replaces those before it alone: they come in any order, and again.
RANKS = {"sent": 1, "failed": 2, "delivered": 3, "read": 4}
FEEDBACK = ("up", "down")
# Faults of a channel: its token is refused; somebody else asks for the same bot's messages.
TOKEN_REFUSED, TOKEN_ELSEWHERE = FAULTS = ("token_refused", "token_elsewhere")
# Kind of a message that begins a conversation and says nothing else.
START = "start"
ANY_LINK = "any-link"
MOST_SITES = 100
MOST_TITLE = 80
MOST_LAUNCHER = 40
POSITIONS, THEMES = ("left", "right"), ("light", "dark")
MOST_URL = 500
DEFAULT_COLOR = "#2456a6"
_COLOR = re.compile(r"#[0-9a-fA-F]{6}")
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?|\[[0-9a-f:.]{2,45}\]")
_DEFAULT_PORTS = {"http": 80, "https": 443}

MOST_LOGO = 64 * 1024  # bytes of a widget's logo
_PICTURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}


class Channel(NamedTuple):
    """A channel of a bot. `identity` is the id of the bot's account on the platform, such as the id of a phone number.

    `fault` (one of FAULTS) is why the channel does not work, and `fault_at` is since when. `seen_at` is the time of the channel's last
    update, `verified_at` the time of the callback's handshake. `refused_site` is the last site without permission to embed the widget.
    """

    id: str
    bot_id: str
    channel: str
    state: str
    settings: Mapping[str, object]
    identity: str | None
    created_at: int
    updated_at: int
    fault: str | None = None
    fault_at: int | None = None
    seen_at: int | None = None
    verified_at: int | None = None
    refused_site: str | None = None
    refused_at: int | None = None

    @property
    def sites(self) -> list[str]:
        """Return the origins that may embed the widget, as they were set. ANY_LINK stands for the widget's own page."""
        sites = self.settings.get("sites")
        return [str(site) for site in sites] if isinstance(sites, list) else []

    @property
    def origins(self) -> list[str]:
        """Return the origins whose pages may embed the widget. For a domain, its `www.` host is included."""
        sites = [(site, host_of(site)) for site in self.sites if site != ANY_LINK]
        # Of a host that is a domain, and no address, single name or www itself.
        domains = [site for site, host in sites if "." in host and not host.startswith("www.") and not host.rpartition(".")[2].isdigit()]
        return list(dict.fromkeys([*(site for site, _ in sites), *(site.replace("://", "://www.", 1) for site in domains)]))

    def text(self, name: str) -> str | None:
        value = self.settings.get(name)
        return value if isinstance(value, str) else None


class SetChannel(NamedTuple):
    """A channel that was set. `warning` is why the platform could not confirm it; `callback_url` has to be entered at the platform."""

    channel: Channel
    warning: str | None
    callback_url: str | None = None


class TooManyConversations(Exception):
    """The channel's limit of new conversations has been reached today. The message is not stored."""


def first_delivery(channel: str, role: str) -> str | None:
    """Return the first delivery state of a new outgoing message. The widget gets replies at once; the interface has no states."""
    if channel not in SETTABLE:
        return None
    return "sent" if channel == WEB and role == "assistant" else "queued"


def outbox_of(channel: str, bot_id: str, delivery: str | None) -> str | None:
    """Return the name of the queue in which a new message waits for its platform. Return None if nothing is sent."""
    return f"{channel} {bot_id}" if delivery == "queued" and channel in PLATFORMS else None


def origin_of(text: str) -> str:
    """Return `scheme://host[:port]` of an address, without a default port; raises ValueError for anything else."""
    parts = urlsplit(text.strip())
    host, port = (parts.hostname or ""), parts.port
    if parts.scheme not in _DEFAULT_PORTS or parts.path not in ("", "/") or parts.query or parts.fragment or "@" in parts.netloc:
        raise ValueError(text)
    host = f"[{host}]" if ":" in host else host.encode("idna").decode() if not host.isascii() else host
    if not _HOST.fullmatch(host):
        raise ValueError(text)
    return f"{parts.scheme}://{host}" + ("" if port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{port}")


def host_of(origin: str) -> str:
    return (urlsplit(origin).hostname or "") if origin else ""


def is_color(text: str) -> bool:
    return _COLOR.fullmatch(text) is not None


def is_dark(color: str) -> bool:
    """Return whether white has more contrast on a colour than black (WCAG 2)."""
    parts = [int(color[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    light = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2] <= 0.179


def logo_kind(data: bytes) -> str | None:
    """Return the media type of a picture that may be a logo, by its content. Return None for any other file."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _PICTURES.items() if data.startswith(start)), None)


def is_web_address(text: str) -> bool:
    """Return whether a page may link to a text: an http or https address."""
    if len(text) > MOST_URL or not text.isascii() or not text.isprintable() or any(mark in text for mark in " \"'<>"):
        return False
    try:
        parts = urlsplit(text)
        return parts.scheme in _DEFAULT_PORTS and bool(parts.hostname)
    except ValueError:
        return False


def digest_of(bot_id: str, channel: str, key: str) -> bytes:
    """Return the digest by which a message is recognised if it is received again."""
    return hashlib.sha256(f"{bot_id}\n{channel}\n{key}".encode("utf-8", "surrogatepass")).digest()


class NewMessage(NamedTuple):
    """A visitor's message as its channel delivers it. `key` identifies it on the channel, `sent_at` is its time in milliseconds.

    `kind` is None for a text, START for the beginning of a conversation, or the kind of other content, such as "photo".
    `most_new` is how many conversations may begin on the channel in a UTC day, or None for any number.
    """

    account_id: str
    bot_id: str
    channel: str
    user_id: str
    text: str
    key: str
    sent_at: int
    source_page_host: str = ""
    kind: str | None = None
    most_new: int | None = None

    @property
    def digest(self) -> bytes:
        """Return the digest by which the message is recognised when it comes again."""
        return digest_of(self.bot_id, self.channel, self.key)


# Addresses by which a platform knows visitors: a phone number, or the id that a business sees instead of it.
PHONE, SCOPED = ADDRESS_KINDS = ("phone", "scoped")
_PHONE = re.compile(r"\d{4,20}", re.ASCII)
_SCOPED = re.compile(r"[A-Z]{2}\.[A-Za-z0-9._-]{1,160}")


class PlatformAddress(NamedTuple):
    """Address by which a platform knows a visitor. `kind` is PHONE, or SCOPED for an id that only this business sees."""

    kind: str
    value: str


class AddressMove(NamedTuple):
    """A change of a visitor's telephone number, or of the platform's id for it."""

    before: tuple[PlatformAddress, ...]
    after: tuple[PlatformAddress, ...]


def is_address(kind: str, value: str) -> bool:
    return bool((_PHONE if kind == PHONE else _SCOPED).fullmatch(value))


# A GET request with which a platform confirms a token: the path after its server's address, and the headers.
TokenQuestion = tuple[str, Mapping[str, str]]

# Returns a setting as it is kept, None for "" where that removes it. Raises Refused.
CheckSetting = Callable[[Any], object]


def optional_text(is_valid: Callable[[str], object], refusal: Callable[[str], Refused]) -> CheckSetting:
    """Return a function that checks an optional text, and raises `refusal` for an invalid one."""

    def check(given: object) -> str | None:
        text = str(given).strip()
        if text and not is_valid(text):
            raise refusal(text)
        return text or None

    return check


@dataclass(frozen=True)
class Platform:
    """A messaging platform, with all that the service must know of it.

    `name` is used in the store, `label` is for people. `identity(settings, secrets)` returns the platform's id of a bot's account, or
    raises Refused. `question(identity, token)` returns the request that confirms a token, without a message to visitors. `required` are
    the settings that must be set. `callback_path` is followed by the id of a bot; it is None if the platform does not call the service.
    `window_ms` is how long after a visitor's message an answer may be sent, or None for any time.

    The parts are "module:callable", and loaded when they are used. `sender` makes a PlatformSender from Services and OpenChannel.
    `front_end` makes the Skin for `callback_path` from Services. `poller` is made from Services; its `start()` begins to poll for messages
    and returns the function that ends polling. `examine` returns additional findings of `doctor`.
    """

    name: str
    label: str
    identity: Callable[[Mapping[str, object], Mapping[str, str]], str]
    question: Callable[[str, str], TokenQuestion]
    sender: str
    settings: Mapping[str, CheckSetting] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ("token",)
    callback_path: str | None = None
    window_ms: int | None = None
    front_end: str | None = None
    poller: str | None = None
    examine: str | None = None
