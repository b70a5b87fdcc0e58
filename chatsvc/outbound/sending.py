"""Exceptions of sending by a messaging platform; each tells whether the message was sent.

It was surely not sent, or nobody knows.
"""


class SendingRefused(Exception):
    """The platform refuses the message: it was not sent and will not be. `code` is kept with the message, the text is for the log."""

    def __init__(self, code: str, text: str = "") -> None:
        super().__init__(f"{code}: {text}" if text else code)
        self.code = code


class RetryLater(Exception):
    """The platform takes no message for a while: it was not sent. `whole`: nobody's, else only none of this conversation."""

    def __init__(self, code: str, seconds: float, *, whole: bool = True) -> None:
        super().__init__(f"{code}: {seconds:g} s")
        self.code, self.seconds, self.whole = code, seconds, whole


class NotConnected(Exception):
    """No connection to the platform could be opened, so the message was not sent."""


class SendingUncertain(Exception):
    """The request was written and no clear answer came: the message may have been sent. `code` is kept with the message."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code
