"""Fields of a submitted form as pages read them, and the version of a form's values.

A page that is older than what it changes says so and shows both, and overwrites nothing unseen.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence

from chatsvc.domain.targets import with_https
from chatsvc.web.forms import SubmittedForm, Upload


class Fields:
    """Fields of one submitted form; a missing field reads as an empty one."""

    def __init__(self, form: SubmittedForm) -> None:
        self.form = form

    def text(self, name: str) -> str:
        """Return a field without white space around it."""
        return self.raw(name).strip()

    def raw(self, name: str) -> str:
        """Return a field as it was typed, with the line breaks of Unix. Passwords, long texts."""
        value: str = self.form.values.get(name, "")
        return value.replace("\r\n", "\n")

    def optional(self, name: str) -> str | None:
        """Return a field, or None if it is empty."""
        return self.text(name) or None

    def number(self, name: str) -> int | None:
        """Return a whole number. None for an empty field, -1 for anything else: operations refuse it with their range."""
        text = self.text(name)
        number = whole_number(text)
        return -1 if text and number is None else number

    def address(self, name: str) -> str:
        """Return a web address; one that was typed without a scheme is taken for https."""
        return with_https(self.text(name))

    def all(self, name: str) -> list[str]:
        """Return the values of a field that may come several times, such as check boxes."""
        return list(self.form.values.getall(name, []))

    def uploads(self, name: str = "file") -> Sequence[Upload]:
        return self.form.uploads.getall(name, [])

    def __contains__(self, name: str) -> bool:
        return name in self.form.values

    def __bool__(self) -> bool:
        return bool(self.form.values or self.form.uploads)


NO_FIELDS = Fields(SubmittedForm())


def whole_number(text: str) -> int | None:
    """Read a whole number of at most 15 digits; return None for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 15 else None


def version_of(values: Mapping[str, object]) -> str:
    """Return a digest of each value, for the hidden field `version` of a form."""
    return ",".join(f"{name}:{_digest(value)}" for name, value in values.items())


def changed_since(version: str, current: Mapping[str, object], typed: Mapping[str, object]) -> dict[str, str]:
    """Return the current texts of typed fields that somebody has changed since the form was shown.

    A field whose typed value is the current one is no conflict. A form without a version has none.
    """
    digests = dict(re.findall(r"([^:,]+):(\w+)", version))
    return {
        name: "\n".join(filter(None, value)) if isinstance(value, list) else str(value)
        for name, value in current.items()
        if name in digests and name in typed and typed[name] != value and digests[name] != _digest(value)
    }


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=False).encode()).hexdigest()[:12]
