"""`chatsvc webhook`: set, show, rotate, remove, test, attempts, resend. For the developer on the other side listen, forward, verify."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import click

from chatsvc.cli import progress
from chatsvc.cli.files import InputFile, InputPath
from chatsvc.cli.main import load_config
from chatsvc.cli.operations import operation
from chatsvc.cli.output import call, json_option, show
from chatsvc.cli.words import BOT, EVENT
from chatsvc.domain.errors import CommandError

ATTEMPT_COLUMNS = ("id", "at", "event", "record_id", "success", "status_code", "error", "duration_ms", "url")
KEEP_IT = "Keep the signing key now: it is not shown again."


def _given(given: dict[str, Any]) -> dict[str, Any]:
    if given.pop("pull") == (given["url"] is not None):
        raise click.UsageError("give a URL or --pull, one of them")
    return {**given, "events": list(given["events"])}


@click.group()
def webhook() -> None:
    """Webhooks: where a bot's requests and appointments are sent, and what became of each delivery."""


operation(
    webhook,
    "webhook.set",
    click.argument("bot", type=BOT),
    click.argument("url", required=False),
    click.option("--pull", is_flag=True, help="Record events without sending; fetch them with `webhook forward`."),
    click.option(
        "--event", "events", type=EVENT, multiple=True, required=True, help="request.created or appointment.created; may be given twice."
    ),
    arguments=_given,
    told=lambda made: KEEP_IT if "signing_key" in made else None,
)
operation(webhook, "webhook.show", click.argument("bot", type=BOT))
operation(webhook, "webhook.rotate", click.argument("bot", type=BOT), told=lambda _: KEEP_IT)
operation(webhook, "webhook.remove", click.argument("bot", type=BOT))


def _signing_key(file: InputFile) -> str:
    """The signing key in a file. Raises CommandError for an empty one, with which anybody could sign."""
    key = file.read_bytes().decode("utf-8", "replace").strip()
    if not key.startswith("whsec_"):
        raise CommandError(f"{file} does not hold a signing key (whsec_...), as webhook set and rotate show it")
    return key


def _end(attempts: list[dict[str, Any]]) -> None:
    failed = [attempt for attempt in attempts if not attempt["success"]]
    if failed:
        what = "the delivery" if len(attempts) == 1 else f"{len(failed)} of {len(attempts)} deliveries"
        raise CommandError(f"{what} failed: {', '.join(sorted({str(attempt['error']) for attempt in failed}))}")


operation(webhook, "webhook.test", click.argument("bot", type=BOT), ends=lambda attempt: _end([attempt]))
operation(
    webhook,
    "webhook.attempts",
    click.argument("bot", type=BOT),
    click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Maximum number of records."),
    columns=ATTEMPT_COLUMNS,
    pages=True,
)


def _resend_failed(ctx: click.Context, bot: str, since: str) -> list[dict[str, Any]]:
    """Send page by page, and show the progress."""
    sent: list[dict[str, Any]] = []
    after = 0
    with progress.shown("sending again") as far:
        while True:
            page = call(ctx, "webhook.resend_failed", bot=bot, since=since, after=after)
            sent += page["attempts"]
            far("sending again: events", len(sent), len(sent) + page["left"])
            if page["next"] is None:
                return sent
            after = page["next"]


@webhook.command()
@click.argument("attempt", required=False)
@click.option("--bot", type=BOT, metavar="BOT", help="All of this bot's events ...")
@click.option("--failed-since", metavar="TIME", help="... whose latest attempt failed since then (2026-11-20T08:00, UTC).")
@json_option
@click.pass_context
def resend(ctx: click.Context, attempt: str | None, bot: str | None, failed_since: str | None, as_json: bool) -> None:
    """Send an event again: its record keeps its id, the delivery gets a new one.

    Give the id of one attempt from `webhook attempts`, or resend each event of a bot whose latest attempt failed. The exit status is 1 when
    one failed again.

    \b
    Examples:
      chatsvc webhook resend 90be...
      chatsvc webhook resend --bot 6f1c... --failed-since 2026-11-20T08:00
    """
    if attempt is not None and bot is None and failed_since is None:
        sent = call(ctx, "webhook.resend", attempt=attempt)
        show(sent, as_json)
        _end([sent])
    elif attempt is None and bot is not None and failed_since is not None:
        sent = _resend_failed(ctx, bot, failed_since)
        show(sent, as_json, ATTEMPT_COLUMNS)
        _end(sent)
    else:
        raise click.UsageError("give an ATTEMPT, or --bot with --failed-since")


@webhook.command()
@click.option("--signing-key-file", type=InputPath(), required=True, help="File with the signing key.")
@click.option("--signature", required=True, help="The header X-Service-Signature.")
@click.argument("body_file", type=InputPath())
@json_option
def verify(signing_key_file: InputFile, signature: str, body_file: InputFile, as_json: bool) -> None:
    """Check the signature of a received body; exit status 1 when it is wrong.

    For the developer of a receiver: BODY_FILE holds the bytes of the body, unchanged.

    \b
    Examples:
      chatsvc webhook verify --signing-key-file key.txt --signature sha256=757107ea... body.json
    """
    from chatsvc.domain import signing

    valid = signing.verify(_signing_key(signing_key_file), body_file.read_bytes(), signature)
    show({"valid": valid}, as_json)
    if not valid:
        raise CommandError("the signature is not that of this body under this key")


@webhook.command()
@click.option("--port", type=click.IntRange(0, 65535), required=True, help="Port on 127.0.0.1; 0 is any free one.")
@click.option("--signing-key-file", type=InputPath(), required=True, help="File with the signing key.")
@click.option("--cert-file", type=InputPath(), help="Certificate (PEM), for https.")
@click.option("--key-file", type=InputPath(), help="The certificate's key (PEM).")
@json_option
def listen(port: int, signing_key_file: InputFile, cert_file: InputFile | None, key_file: InputFile | None, as_json: bool) -> None:
    """Receive, verify and print webhooks on this machine, for development. Ctrl+C ends it.

    It answers 204 to a delivery with a correct signature, else 401. With --json, it prints one delivery a line.

    \b
    Examples:
      chatsvc webhook listen --port 9000 --signing-key-file key.txt
      chatsvc webhook listen --port 9443 --signing-key-file key.txt --cert-file cert.pem --key-file key.pem
    """
    if (cert_file is None) != (key_file is None):
        raise click.UsageError("--cert-file and --key-file go together")

    import asyncio
    import gc

    from chatsvc.cli.listener import receive

    gc.enable()

    key = _signing_key(signing_key_file)
    asyncio.run(receive(port, key, (cert_file.reopened, key_file.reopened) if cert_file and key_file else None, as_json=as_json))


@webhook.command()
@click.argument("bot", type=BOT)
@click.argument("url")
@click.option("--since", metavar="TIME", help="Only events since then (2026-11-20T08:00, UTC).")
@click.option("--follow", is_flag=True, help="Continue with new events until Ctrl+C.")
@json_option
@click.pass_context
def forward(ctx: click.Context, /, bot: str, url: str, since: str | None, follow: bool, as_json: bool) -> None:
    """Post a bot's recorded events, signed, to a receiver in your own network.

    For receivers at private addresses, and for webhooks set with --pull. Events are sent oldest first; the first failure stops it. With
    --json it prints an array, or one object a line with --follow.

    \b
    Examples:
      chatsvc webhook forward 6f1c... http://10.0.0.7:9000/hook --follow
      chatsvc webhook forward 6f1c... http://10.0.0.7:9000/hook --since 2026-11-20T08:00
    """
    import asyncio
    import gc

    from chatsvc.cli.forwarder import post_all
    from chatsvc.outbound.tls import client_context

    gc.enable()
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise click.UsageError("the address begins with http:// or https:// and names a host")

    def fetch(after: int) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = call(ctx, "webhook.events", bot=bot, since=since, after=after)
        return events

    config = load_config(ctx, "chatsvc.cli.forwarder")
    if config.egress == "none":
        raise CommandError("the configuration says egress: none, so nothing is sent")
    asyncio.run(post_all(url, fetch, client_context(config.webhooks.ca_file), follow=follow, as_json=as_json))
