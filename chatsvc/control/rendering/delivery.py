"""JSON of webhooks with their attempts and events, of channels, of mails, and of the work of bots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatsvc.control.rendering.registry import renders
from chatsvc.domain import times
from chatsvc.domain.analytics import Quality
from chatsvc.domain.shapes import Json, fields
from chatsvc.platforms import PLATFORMS

if TYPE_CHECKING:
    from chatsvc.domain.channels import Channel, SetChannel
    from chatsvc.domain.mails import Mail
    from chatsvc.domain.webhooks import Attempt, ResentPage, WebhookSettings
    from chatsvc.services.accounts.analytics import QualityReport, SendUsage

MASK = "***"
SHOWN = Quality._fields[:7]  # without tokens and cost, which `usage` has


@renders("webhook.set", "webhook.show", "webhook.rotate", removes="webhook.remove")
def webhook(result: WebhookSettings) -> Json:
    """Write a webhook; its signing key only where it is given."""
    about: Json = {"bot": result.bot_id, "url": result.url, "pull": result.url is None, "events": list(result.events)}
    shown = {**about, **fields(result, "created_at", "updated_at")}
    return shown if result.signing_key is None else {**shown, "signing_key": result.signing_key}


@renders("webhook.test", "webhook.attempts", "webhook.resend")
def attempt(result: Attempt) -> Json:
    shown = {**result._asdict(), "at": times.with_millis(result.at)}
    del shown["bot_id"]
    return shown


@renders("webhook.resend_failed")
def resent(result: ResentPage) -> Json:
    return {"attempts": [attempt(attempted) for attempted in result.attempts], "left": result.left, "next": result.next}


@renders("usage.quality")
def quality(result: QualityReport) -> Json:
    return {
        "by_day": [{"date": times.day(day), **dict(zip(SHOWN, result.of_day(day), strict=False))} for day in result.days],
        "first_response_s": {"median": result.responses.median, "p90": result.responses.p90},
        "most_used": [{"bot": row.bot_id, "id": row.entry_id, "question": row.question, "times": row.times} for row in result.entries],
        "most_missed": [{"bot": row.bot_id, "question": row.question, "times": row.times} for row in result.missed],
    }


@renders("usage.sends")
def sends(result: SendUsage) -> Json:
    about = {"bot": result.bot_id, "month": result.month, "sent": result.sent}
    return {**about, "beyond_free": result.beyond, "monthly_limit": result.limit}


@renders("mail.list", "mail.test")
def mail(result: Mail) -> Json:
    instants = ("created_at", "due_at", "settled_at")
    fields = result._asdict()
    shown = {name: times.with_millis(fields[name]) if fields[name] is not None else None for name in instants}
    return {"id": fields.pop("number"), "account": fields.pop("account_id"), **fields, **shown}


@renders("channel.list", "channel.pause", "channel.resume", removes="channel.remove")
def channel(result: Channel) -> Json:
    """Write a channel; each secret that it has is masked, and of a logo its media type is told."""
    secrets = PLATFORMS[result.channel].secrets if result.channel in PLATFORMS else ()
    held = None if result.state == "needs_secret" else MASK
    logo = result.text("logo")
    shown = {"logo": logo.removeprefix("data:").partition(";")[0]} if logo else {}
    columns = {"channel": result.channel, "state": result.state, **result.settings, **shown, **dict.fromkeys(secrets, held)}
    return {**columns, **_platform_state(result), **fields(result, "created_at", "updated_at")}


def _platform_state(result: Channel) -> Json:
    """Write the state that a platform tells, or the site that asked for a widget and may not show it."""
    if result.channel not in PLATFORMS:
        return fields(result, "refused_site", "refused_at")
    return fields(result, "fault", "fault_at", "seen_at", "verified_at")


@renders("channel.set")
def set_channel(result: SetChannel) -> Json:
    """Write a channel that was just set. It has a warning where its platform could not confirm it."""
    callback: Json = {} if result.callback_url is None else {"callback_url": result.callback_url}
    return {**channel(result.channel), **callback, "warning": result.warning}
