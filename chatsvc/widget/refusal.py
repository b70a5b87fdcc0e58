"""Refusal of a request to the widget."""


class CallRefused(Exception):
    """A request is answered with a status and a code; `retry_after` is in seconds."""

    def __init__(self, status: int, code: str, retry_after: int | None = None) -> None:
        super().__init__(code)
        self.status, self.code, self.retry_after = status, code, retry_after
