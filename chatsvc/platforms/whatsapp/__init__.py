"""The platform WhatsApp: callbacks, which deliver messages and delivery statuses, and the sender of answers."""

import re

from chatsvc.domain import refusals
from chatsvc.domain.channels import Platform, optional_text
from chatsvc.domain.times import DAY_MS

NAME = "whatsapp"
MOST_MONTHLY = 100_000_000
_phone_number_id = optional_text(re.compile(r"[0-9]{1,20}").fullmatch, lambda text: refusals.phone_number_id_invalid(phone_number_id=text))


def _monthly_limit(given: object) -> int | None:
    if given == "":
        return None
    limit = int(given) if isinstance(given, str) and given.isascii() and given.isdigit() else given
    if not isinstance(limit, int) or not 0 <= limit <= MOST_MONTHLY:
        raise refusals.number_out_of_range(field="monthly_limit", most=MOST_MONTHLY)
    return limit


WHATSAPP = Platform(
    NAME,
    "WhatsApp",
    identity=lambda settings, _: str(settings["phone_number_id"]),
    question=lambda identity, token: (f"/{identity}?fields=display_phone_number,verified_name", {"Authorization": f"Bearer {token}"}),
    sender="chatsvc.platforms.whatsapp.sender:WhatsAppSender",
    settings={"phone_number_id": _phone_number_id, "monthly_limit": _monthly_limit},
    required=("phone_number_id",),
    secrets=("token", "app_secret", "verify_token"),
    callback_path="/channels/whatsapp/",
    window_ms=DAY_MS,
    front_end="chatsvc.platforms.whatsapp.front_end:WhatsAppCallbacks",
)
