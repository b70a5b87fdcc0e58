"""Record of a messaging platform. The platforms are in chatsvc/platforms, each in a folder of its own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from chatsvc.domain.refusals import Refused


class TokenQuestion(NamedTuple):
    """A GET by which a platform confirms a token: the path below its server's address, and the headers."""

    path: str
    headers: Mapping[str, str] = MappingProxyType({})


# Returns a setting as it is kept, None for "" where that removes it. Raises Refused.
CheckSetting = Callable[[Any], object]


def optional_text(is_valid: Callable[[str], object], refusal: Callable[[str], Refused]) -> CheckSetting:
    """Make the check of an optional text."""

    def check(given: object) -> str | None:
        text = str(given).strip()
        if text and not is_valid(text):
            raise refusal(text)
        return text or None

    return check


@dataclass(frozen=True)
class Platform:
    """A messaging platform, with all that the service must know of it.

    name, label: in the store, and as people write it. identity: returns the platform's name of a bot's account there from settings and
    secrets; raises Refused. question: returns the call that confirms a token, from identity and token; it sends nothing to visitors.
    required: of the settings. callback_path: the id of a bot follows; None where the platform calls nothing. window_ms: how long after a
    visitor's message it takes an answer; None: always.

    The parts are "module:callable", loaded when they are used. sender: makes the PlatformSender of Services and OpenChannel. front_end:
    makes the Skin under callback_path of Services. poller: is made of Services; its start() begins to ask for messages and returns the
    function that ends it. examine: returns doctor's findings beyond those of channels, from Config, Examined or None, and the Egress, None
    where nothing is connected.
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
