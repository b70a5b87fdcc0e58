"""The messaging platforms, each in a folder of its own. They are here by name for the processes that use them."""

from collections.abc import Mapping

from chatsvc.domain.platforms import Platform
from chatsvc.platforms.telegram import TELEGRAM
from chatsvc.platforms.whatsapp import WHATSAPP

PLATFORMS: Mapping[str, Platform] = {"telegram": TELEGRAM, "whatsapp": WHATSAPP}
