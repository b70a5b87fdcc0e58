"""`chatsvc webhook`: set, show, rotate, remove, test, attempts, resend.

The commands listen, forward and verify are for developers of a receiver.
"""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from chatsvc.cli.files import InputPath, open_input, read_secret
from chatsvc.cli.operations import BOT, EVENT, command, group, operation, option, options
from chatsvc.cli.output import call, load_config, pages, progress, show
from chatsvc.domain.errors import CommandError

ATTEMPT_COLUMNS = "id at event record_id success status_code error duration_ms url"
KEEP_IT = "Keep the signing key now: it is not shown again."


def _given(given: dict[str, Any]) -> dict[str, Any]:
    if bool(given.pop("pull")) == (given["url"] is not None):
        raise click.UsageError("give a URL or --pull, one of them")
    return {**given, "events": list(given["events"])}


webhook = group("webhook")

operation(
    webhook,
    "webhook.set",
    "bot",
    "[url]",
    *options(pull=bool),
    option("--event", "events", type=EVENT, multiple=True, required=True),
    arguments=_given,
    hint=lambda result: KEEP_IT if "signing_key" in result else None,
)
operation(webhook, "webhook.show", "bot")
operation(webhook, "webhook.rotate", "bot", hint=lambda _: KEEP_IT)
operation(webhook, "webhook.remove", "bot")


def _signing_key(file: Path) -> str:
    key = read_secret(file)
    if not key.startswith("whsec_"):
        raise CommandError(f"{file} does not hold a signing key (whsec_...), as webhook set and rotate show it")
    return key


def _end(attempts: list[dict[str, Any]]) -> None:
    failed = [attempt for attempt in attempts if not attempt["success"]]
    if failed:
        what = "the delivery" if len(attempts) == 1 else f"{len(failed)} of {len(attempts)} deliveries"
        raise CommandError(f"{what} failed: {', '.join(sorted({str(attempt['error']) for attempt in failed}))}")


operation(webhook, "webhook.test", "bot", ends=lambda attempt: _end([attempt]))
operation(webhook, "webhook.attempts", "bot", *options(limit=(click.IntRange(1, 10000), 20)), columns=ATTEMPT_COLUMNS, pages=True)


@command(webhook, "resend", "[attempt]", *options(bot=BOT, failed_since="TIME"))
def resend(ctx: click.Context, attempt: str | None, bot: str | None, failed_since: str | None, as_json: bool) -> None:
    if attempt is not None and bot is None and failed_since is None:
        sent = call(ctx, "webhook.resend", attempt=attempt)
        show(sent, as_json)
        _end([sent])
    elif attempt is None and bot is not None and failed_since is not None:
        sent = []
        with progress("sending again") as far:
            for page in pages(ctx, "webhook.resend_failed", bot=bot, since=failed_since):
                sent += page["attempts"]
                far("sending again: events", len(sent), len(sent) + page["left"])
        show(sent, as_json, ATTEMPT_COLUMNS.split())
        _end(sent)
    else:
        raise click.UsageError("give an ATTEMPT, or --bot with --failed-since")


@command(
    webhook,
    "verify",
    option("--signing-key-file", type=InputPath(), required=True),
    option("--signature", required=True),
    click.argument("body_file", type=InputPath()),
)
def verify(signing_key_file: Path, signature: str, body_file: Path, as_json: bool) -> None:
    from chatsvc.domain import webhooks

    with open_input(body_file) as body:
        valid = webhooks.verify(_signing_key(signing_key_file), body.read(), signature)
    show({"valid": valid}, as_json)
    if not valid:
        raise CommandError("the signature is not that of this body under this key")


@command(
    webhook,
    "listen",
    option("--port", type=click.IntRange(0, 65535), required=True),
    option("--signing-key-file", type=InputPath(), required=True),
    *options(cert_file=InputPath(), key_file=InputPath()),
)
def listen(port: int, signing_key_file: Path, cert_file: Path | None, key_file: Path | None, as_json: bool) -> None:
    if (cert_file is None) != (key_file is None):
        raise click.UsageError("--cert-file and --key-file go together")

    import asyncio

    from chatsvc.cli.deliveries import receive

    key = _signing_key(signing_key_file)
    asyncio.run(receive(port, key, (cert_file, key_file) if cert_file and key_file else None, as_json=as_json))


@command(webhook, "forward", "bot", "url", *options(since="TIME", follow=bool))
def forward(ctx: click.Context, /, bot: str, url: str, since: str | None, follow: bool, as_json: bool) -> None:
    import asyncio

    from chatsvc.cli.deliveries import post_all
    from chatsvc.outbound.egress import client_context

    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise click.UsageError("the address begins with http:// or https:// and names a host")

    def fetch(after: int) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = call(ctx, "webhook.events", bot=bot, since=since, after=after)
        return events

    config = load_config(ctx)
    if config.egress == "none":
        raise CommandError("the configuration says egress: none, so nothing is sent")
    asyncio.run(post_all(url, fetch, client_context(config.webhooks.ca_file), follow=follow, as_json=as_json))
