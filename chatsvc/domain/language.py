"""Language tags (BCP 47): validation and primary subtag."""

import re

PATTERN = (
    r"([A-Za-z]{2,3}(-[A-Za-z]{3}){0,3}|[A-Za-z]{5,8})"  # language
    r"(-[A-Za-z]{4})?(-([A-Za-z]{2}|[0-9]{3}))?"  # script, region
    r"(-([0-9A-Za-z]{5,8}|[0-9][0-9A-Za-z]{3}))*"  # variants
    r"(-[0-9A-WY-Za-wy-z](-[0-9A-Za-z]{2,8})+)*(-[xX](-[0-9A-Za-z]{1,8})+)?"  # extensions, private use
)
_TAG = re.compile(PATTERN)
MAX_LENGTH = 128


def is_tag(text: str) -> bool:
    """Report whether `text` is a well-formed language tag: `tr`, `en-GB`, `zh-Hant-TW`. Script, region and variants may be given."""
    return len(text) <= MAX_LENGTH and _TAG.fullmatch(text) is not None


def primary(tag: str) -> str:
    """Return the language alone: `en` of `en-GB`."""
    return tag.split("-", 1)[0].lower()
