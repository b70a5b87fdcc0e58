"""Record of a messaging platform. The platforms are in chatsvc/platforms, each in a folder of its own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from chatsvc.domain.refusals import Refused

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
