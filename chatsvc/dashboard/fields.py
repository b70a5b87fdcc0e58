"""Fields of a submitted form as pages read them."""

from collections.abc import Sequence

from chatsvc.domain import refusals
from chatsvc.domain.targets import with_https
from chatsvc.web.forms import SubmittedForm, Upload


class Fields:
    """Fields of one submitted form; a missing field reads as an empty one."""

    def __init__(self, form: SubmittedForm) -> None:
        self._form = form

    def text(self, name: str) -> str:
        """Return a field without white space around it."""
        return self.raw(name).strip()

    def raw(self, name: str) -> str:
        """Return a field as it was typed, with the line breaks of Unix. Passwords, long texts."""
        value: str = self._form.values.get(name, "")
        return value.replace("\r\n", "\n")

    def optional(self, name: str) -> str | None:
        """Return a field, None where it is empty."""
        return self.text(name) or None

    def number(self, name: str) -> int | None:
        """Return a whole number. None for an empty field, -1 for anything else: operations refuse it with their range."""
        text = self.text(name)
        if not text:
            return None
        return int(text) if text.isascii() and text.isdigit() and len(text) <= 15 else -1

    def address(self, name: str) -> str:
        """Return a web address; one that was typed without a scheme is taken for https."""
        return with_https(self.text(name))

    def all(self, name: str) -> list[str]:
        """Return the values of a field that may come several times, such as check boxes."""
        return list(self._form.values.getall(name, []))

    def checked(self, name: str) -> bool:
        return name in self._form.values

    def uploads(self, name: str = "file") -> Sequence[Upload]:
        return self._form.uploads.getall(name, [])

    def require_confirmation(self) -> None:
        """Check the field `yes` of what cannot be undone; raises `confirmation_needed`."""
        if not self.checked("yes"):
            raise refusals.confirmation_needed()

    def __contains__(self, name: str) -> bool:
        return name in self._form.values

    def __bool__(self) -> bool:
        return bool(self._form.values or self._form.uploads)

    def close(self) -> None:
        self._form.__exit__()


NO_FIELDS = Fields(SubmittedForm())
