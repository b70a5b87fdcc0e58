"""`egress: none`: no connection is opened and no name looked up, and what needs neither works; told by the interpreter itself."""

import json
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chatsvc.acme import AcmeClient, AcmeError
from chatsvc.engines.anthropic.client import Client
from chatsvc.engines.anthropic.faults import ModelFault
from chatsvc.engines.anthropic.provider import Provider
from chatsvc.outbound.egress import PURPOSES, Egress
from chatsvc.tls.certificates import new_key
from tests.cli.support import environment

# On asyncio's own loop, all of whose connections and look-ups the interpreter's audit sees; libuv's it would not.
SCRIPT = """
import asyncio, json, socket, sys
from pathlib import Path

seen = []
def hook(event, arguments):
    if event == "socket.connect" and arguments[0].family in (socket.AF_INET, socket.AF_INET6):
        seen.append(["connect", str(arguments[1][0])])
    elif event == "socket.getaddrinfo":
        seen.append(["getaddrinfo", str(arguments[0])])

from chatsvc import config as configuration
from chatsvc.app import App
from chatsvc.domain.errors import ProblemError
from chatsvc.domain.models import SendMessage
from chatsvc.services.knowledge.file_reading import read_files
from chatsvc.services.accounts import accounts, bots, webhooks
from chatsvc.services.knowledge import knowledge
from chatsvc.services.messages import messages
from tests.fakes import ADMIN, bot_of

async def said(services, account, bot):
    held = await services.account_cache.account(account)
    try:
        return (await messages.send(services, held, SendMessage(bot, "when are you open"))).reply
    except ProblemError as problem:
        return [problem.problem.code, problem.extra["reason"]]

async def main():
    async with App(configuration.load(Path(sys.argv[1]), {})) as app:
        sys.addaudithook(hook)
        services = app.services
        account = (await accounts.create(services, ADMIN, name="Acme")).account.id
        asked = (await bots.create(services, ADMIN, name="A", account=account, model="model")).id
        knows = (await bots.create(services, ADMIN, name="B", account=account, model="offline")).id
        entries = "language: en\\n\\n## When are you open?\\n\\nFrom nine to six."
        await knowledge.add(services, ADMIN, bot=await bot_of(services, knows), files=read_files([("faq.md", entries.encode())], "tr"))
        done = {"model": await said(services, account, asked), "knowledge": await said(services, account, knows)}
        if sys.argv[2] == "webhook":
            await webhooks.put(services, ADMIN, bot=await bot_of(services, knows), events=["request.created"], url="https://hooks.example.com/in")
            done["attempt"] = (await webhooks.test(services, ADMIN, bot=await bot_of(services, knows))).error
        done["egress"] = [dict(services.egress.opened), dict(services.egress.refused)]
        print(json.dumps({**done, "seen": seen}))

asyncio.run(main())
"""


def run(folder: Path, egress: str, *options: str) -> Any:
    """The whole service in its own process, with a model address where nothing listens."""
    config = folder / "config.yaml"
    config.write_text(
        f"server: {{listen: 127.0.0.1:0}}\negress: {egress}\n"
        "engines: {anthropic: {base_url: 'http://localhost:9', api_key: any}}\n"
        "models: {model: {engine: anthropic, model: m}, offline: {engine: knowledge}}\n"
    )
    line = [sys.executable, "-c", SCRIPT, str(config), *options]
    done = subprocess.run(line, cwd=folder, env=environment(), capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


NONE = dict.fromkeys(PURPOSES, 0)


def test_with_egress_none_nothing_is_connected_to_and_no_name_looked_up(tmp_path: Path) -> None:
    done = run(tmp_path, "none", "webhook")
    assert done["seen"] == []
    assert done["model"] == ["assistant_unavailable", "unreachable"]
    assert done["attempt"] == "egress_refused"
    assert done["knowledge"] == "From nine to six."
    assert done["egress"] == [NONE, {**NONE, "model": 1, "webhook": 1}]


def test_with_egress_all_the_same_is_seen_to_connect_and_counted(tmp_path: Path) -> None:
    done = run(tmp_path, "all", "no webhook")
    assert ["getaddrinfo", "localhost"] in done["seen"]
    assert ["connect", "127.0.0.1"] in done["seen"]
    assert done["model"] == ["assistant_unavailable", "unreachable"]
    opened, refused = done["egress"]
    assert (opened["model"] >= 1, opened["webhook"], refused) == (True, 0, NONE)


async def test_clients_are_refused_where_their_sockets_would_be_made() -> None:
    """Whatever their callers have looked at before."""
    egress = Egress(allowed=False)
    for tries, base_url in enumerate(("http://127.0.0.1:9", "http://localhost:9"), 1):
        client = Client(Provider.of(base_url, "key"), egress)
        with pytest.raises(ModelFault) as raised:
            await client.send({"model": "m", "max_tokens": 1, "messages": []})
        await client.close()
        assert raised.value.reason == "unreachable"
        assert (egress.opened["model"], egress.refused["model"]) == (0, tries)
    authority = AcmeClient("https://localhost:9/directory", new_key(), "tls-alpn-01", ssl.create_default_context(), egress)
    with pytest.raises(AcmeError, match="egress: none"):
        await authority.certificate(["bots.example.com"], None, b"", lambda _: pytest.fail("nothing is to be proved"))
    assert (egress.opened["acme"], egress.refused["acme"]) == (0, 1)
