"""Commands that only call an operation, such as those of keys, operators and mails; also `serve`, `config show` and others."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import click

from chatsvc.cli.operations import ACCOUNT, APPOINTMENT_STATUS, BOT, REQUEST_STATUS, command, group, operation, option, options, word
from chatsvc.cli.output import call, echo, load_config, show
from chatsvc.domain.errors import CommandError
from chatsvc.domain.escaping import one_line, to_json
from chatsvc.domain.mails import SENT, STATES

if TYPE_CHECKING:
    from chatsvc.app import App

key = group("key")

operation(
    key, "key.create", *options(account=ACCOUNT, name="LABEL", expires="TIME"), hint=lambda _: "Keep the key now: it is not shown again."
)
operation(key, "key.list", *options(account=ACCOUNT), columns="id name prefix status created_at expires_at last_used_at", pages=True)
operation(key, "key.revoke", "key KEY_ID")

saved_reply = group("saved-reply")

operation(saved_reply, "saved_reply.list", *options(account=ACCOUNT), columns="name text")
operation(saved_reply, "saved_reply.set", "name", "text", *options(account=ACCOUNT))
operation(saved_reply, "saved_reply.remove", "name", *options(account=ACCOUNT))

STATE = word("state", *STATES)


def _end(sent: dict[str, Any]) -> None:
    if sent["state"] != SENT:
        answer = f": {sent['status_code']} {sent['answer']}" if sent["status_code"] else ""
        raise CommandError(f"the mail was not sent: {sent['error']}{answer}")


mail = group("mail")

operation(
    mail,
    "mail.list",
    *options(status=STATE, limit=(click.IntRange(1, 10000), 20)),
    columns="id created_at kind causes recipient state attempts error status_code answer",
    pages=True,
)
operation(mail, "mail.test", "email", ends=_end)

CHANGES = options(note="TEXT", assignee="EMAIL")


def _change(given: dict[str, Any]) -> dict[str, Any]:
    if not any(given.get(name) is not None for name in ("status", "note", "assignee", "date", "time")):
        raise click.UsageError("nothing to change: give --status, --note or --assignee")
    return given


request = group("request")

operation(
    request, "request.list", "bot", columns="id request_type status visitor_name visitor_email visitor_phone message created_at", pages=True
)
operation(request, "request.set", "request ID", *options(status=REQUEST_STATUS), *CHANGES, arguments=_change)

appointment = group("appointment")

operation(
    appointment,
    "appointment.list",
    "bot",
    columns="id status appointment_date appointment_time visitor_name visitor_email visitor_phone message",
    pages=True,
)
operation(
    appointment,
    "appointment.set",
    "appointment ID",
    *options(status=APPOINTMENT_STATUS, date="D", time="T", tell=click.Choice(["on", "off"]), text="T"),
    *CHANGES,
    arguments=_change,
)
operation(
    appointment,
    "appointment.add",
    "bot",
    option("--date", required=True, metavar="D"),
    option("--time", required=True, metavar="T"),
    option("--name", required=True, metavar="N"),
    *options(phone="P", email="E", message="T"),
)
operation(appointment, "appointment.calendar", "bot", *options(renew=bool))

audit = operation(
    "audit",
    "audit",
    *options(limit=(click.IntRange(1, 100000), 100), since="TIME"),
    columns="at uid operation outcome ids",
    pages=True,
    shown=lambda acts: [{**act, "ids": " ".join((f"{name} {id_}" for name, id_ in act["ids"].items()))} for act in acts],
)

nodes = operation("nodes", "node.list", columns="id since listen version")

ROLE = word("role", "reader", "editor", "owner", "none")
LANGUAGE = word("L", "tr", "en")
NOTICE = word("N", "waiting", "request", "appointment", "webhook", "none")


def _keep(operator: dict[str, Any]) -> str | None:
    return "Keep the link now: it is not shown again." if operator["link"] is not None else None


operator = group("operator")

operation(operator, "operator.add", "email", *options(admin=bool, account=ACCOUNT, role=ROLE, name="NAME", language=LANGUAGE), hint=_keep)
operation(
    operator,
    "operator.list",
    *options(account=ACCOUNT),
    columns="email name admin roles set_up second_factor created_at",
    pages=True,
    shown=lambda operators: [
        {**operator, "roles": " ".join(f"{held['account']} {held['role']}" for held in operator["roles"])} for operator in operators
    ],
)
operation(
    operator,
    "operator.set",
    "email",
    *options(account=ACCOUNT, role=ROLE, notices=[NOTICE], name="NAME", language=LANGUAGE, timezone="ZONE"),
    option("--admin/--no-admin", default=None),
    arguments=lambda given: {**given, "notices": list(given["notices"]) or None},
)
operation(operator, "operator.link", "email", hint=_keep)
operation(operator, "operator.sessions", "email", columns="id browser address created_at last_seen_at")
operation(operator, "operator.remove", "email")


config = group("config")


@command(config, "show")
def show_config(ctx: click.Context, as_json: bool) -> None:
    from chatsvc.config.shown import as_document, as_yaml

    loaded = load_config(ctx)
    document = as_document(loaded)
    if as_json:
        show({"config": str(loaded.path) if loaded.path else None, **document}, True)
    else:
        origin = one_line(loaded.path) if loaded.path else "no file: everything is the default"
        echo(f"# {origin}\n{as_yaml(document)}", nl=False)


@command(None, "usage", "[account]", *options(days=(click.IntRange(1, 90), 30), quality=bool, bot=BOT))
def usage(ctx: click.Context, account: str | None, days: int, quality: bool, bot: str | None, as_json: bool) -> None:
    if bot is not None and not quality:
        raise click.UsageError("--bot needs --quality")
    if quality:
        figures = call(ctx, "usage.quality", account=account, bot=bot, days=days)
    else:
        figures = call(ctx, "usage", account=account, days=days)
        if sent := call(ctx, "usage.sends", account=account):
            figures["whatsapp"] = sent
    show(figures, as_json)


@command(None, "licenses", *options(full=bool))
def licenses(full: bool, as_json: bool) -> None:
    from chatsvc.services.operations.system import installed

    packages = [{**package._asdict(), "license": package.license or "see its text"} for package in installed()]
    if as_json:
        show(packages, True)
        return
    if not full:
        show(packages, False, ("name", "version", "license"))
        return
    for package in packages:
        text = str(package["text"]).replace("\f", "").expandtabs()
        echo(f"{'=' * 80}\n{package['name']} {package['version'] or ''}  ({package['license']})\n{'=' * 80}\n{text}\n")


@command(None, "serve")
def serve(ctx: click.Context, as_json: bool) -> None:
    # The service takes long to import.
    import uvloop

    from chatsvc import app, log

    config = load_config(ctx)

    def ready(started: App) -> None:
        # A port of 0 is chosen when the listener opens.
        base_url = f"{config.server.public_url if config.server.port or config.server.socket else started.url}/api/v2"
        if as_json:
            echo(to_json({"event": "listening", "url": started.url, "base_url": base_url}))
        elif logs_json:
            logging.getLogger("chatsvc").info("chatsvc listens on %s", started.url, extra={"fields": {"base_url": base_url}})
        else:
            echo(f"chatsvc listens on {started.url}\nbase_url: {base_url}", err=True)

    logs_json = log.set_up(config.log.format, config.log.level, access=config.log.access)
    uvloop.run(app.serve(config, ready))
