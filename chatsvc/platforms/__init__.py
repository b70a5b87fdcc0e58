"""The messaging platforms, each in a folder of its own. This module lists them by name."""

from collections.abc import Mapping

from chatsvc.domain.channels import Platform
from chatsvc.platforms.telegram import TELEGRAM
from chatsvc.platforms.whatsapp import WHATSAPP

PLATFORMS: Mapping[str, Platform] = {"telegram": TELEGRAM, "whatsapp": WHATSAPP}
