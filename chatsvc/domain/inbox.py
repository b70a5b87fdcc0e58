"""Items of the inbox: a request with its appointment, conversation and deliveries."""

from typing import NamedTuple

from chatsvc.domain.captures import Appointment, Request

# Values of the filter `assignee` beside e-mail addresses, and of the filter `kind`.
UNASSIGNED = "none"
KINDS = ("request", "appointment")


class Delivery(NamedTuple):
    """State of the delivery of a record's event: "kept", "pending", "in_flight", "delivered" or "failed"."""

    event: str
    state: str
    status_code: int | None
    error: str | None


class InboxItem(NamedTuple):
    """A request with its appointment, its conversation and the deliveries of its webhook events."""

    request: Request
    appointment: Appointment | None
    bot_id: str
    conversation_id: str
    channel: str
    deliveries: tuple[Delivery, ...]
