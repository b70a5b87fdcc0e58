"""`chatsvc client`: both clients call the real service, repeat what is worth it, and verify webhooks."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from chatsvc.domain.webhooks import sign
from tests.cli.support import PATIENCE_S, Site, run

PYTHON = """
import json, os, sys
from chatsvc_client import ApiError, Client, verify
client = Client(os.environ["BASE_URL"], os.environ["KEY"])
bot = next(client.chatbots())
said = client.send(bot.id, "opening hours", user_id="customer-7")
again = client.send(bot.id, "opening hours", user_id="customer-8", idempotency_key="one")
once = client.send(bot.id, "opening hours", user_id="customer-8", idempotency_key="one")
(thread,) = [c for c in client.conversations(chatbot_id=bot.id) if c.user_id == "customer-7"]
whole = client.conversation(thread.id)
usage = client.analytics(days=1).usage
refused = []
for call in (lambda: client.chatbot("nobody"), lambda: client.conversation("no/body"), lambda: client.send(bot.id, " "),
             lambda: client.send(bot.id, "Do you sell elephants?"), lambda: Client(os.environ["BASE_URL"], "csk_x").chatbot("x")):
    try:
        call()
    except ApiError as error:
        refused.append([error.status, error.code, error.reason, error.request_id is not None])
body = sys.stdin.buffer.read()
print(json.dumps({
    "bots": len(list(client.chatbots())), "bot": client.chatbot(bot.id).id == bot.id, "reply": said.reply, "once": again == once,
    "utc": whole.last_message_at.isoformat()[-6:], "order": thread.last_message_at == whole.messages[-1].created_at,
    "messages": [m.role for m in whole.messages], "used": usage.total_messages, "days": list(usage.by_day.values()), "refused": refused,
    "verify": [verify(body, os.environ["SIGNATURE"], "whsec_k"), verify(body, None, "k"), verify(body, "sha256=\\u00e7", "k")],
}))
"""
JS = """
import { readFileSync } from "node:fs";
import { ApiError, Client, verify } from "./chatsvc_client.mjs";
const { BASE_URL, KEY, SIGNATURE } = process.env;
const client = new Client(BASE_URL, KEY);
const all = async (items) => { const found = []; for await (const item of items) found.push(item); return found; };
const bots = await all(client.chatbots());
const bot = bots[0];
const said = await client.send(bot.id, "opening hours", { user_id: "customer-7" });
const again = await client.send(bot.id, "opening hours", { user_id: "customer-8", idempotencyKey: "one" });
const once = await client.send(bot.id, "opening hours", { user_id: "customer-8", idempotencyKey: "one" });
const [thread] = (await all(client.conversations({ chatbot_id: bot.id }))).filter((c) => c.user_id === "customer-7");
const whole = await client.conversation(thread.id);
const { usage } = await client.analytics({ days: 1 });
const refused = [];
for (const call of [() => client.chatbot("nobody"), () => client.conversation("no/body"), () => client.send(bot.id, " "),
                    () => client.send(bot.id, "Do you sell elephants?"), () => new Client(BASE_URL, "csk_x").chatbot("x")]) {
  try { await call(); } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    refused.push([error.status, error.code, error.reason ?? null, error.requestId !== null]);
  }
}
const body = readFileSync(0);
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
console.log(JSON.stringify({
  bots: bots.length, bot: (await client.chatbot(bot.id)).id === bot.id, reply: said.reply, once: same(again, once),
  utc: whole.last_message_at instanceof Date ? "+00:00" : "", order: same(thread.last_message_at, whole.messages.at(-1).created_at),
  messages: whole.messages.map((m) => m.role), used: usage.total_messages, days: usage.by_day.map((d) => d.messages), refused,
  verify: [verify(body, SIGNATURE, "whsec_k"), verify(body, undefined, "k"), verify(body, "sha256=\\u00e7", "k")],
}));
"""
SCRIPTS = {
    "python": (sys.executable, "chatsvc_client.py", "use.py", PYTHON),
    "js": ("node", "chatsvc_client.mjs", "use.mjs", JS),
}


class Program:
    """A program that uses a client."""

    def __init__(self, language: str, folder: Path) -> None:
        program, file, self.name, self.script = SCRIPTS[language]
        self.interpreter = shutil.which(program)
        if self.interpreter is None:
            pytest.skip(f"{program} is not on this machine")
        self.language, self.folder = language, folder
        (folder / file).write_text(run("client", language).out, "utf-8")

    def run(self, script: str, stdin: bytes = b"", **env: str) -> str:
        """Run a script beside the client and return its output."""
        (self.folder / self.name).write_text(script, "utf-8")
        assert self.interpreter
        words = [self.interpreter, self.name]
        done = subprocess.run(words, cwd=self.folder, env=env, input=stdin, capture_output=True, timeout=PATIENCE_S, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()


@pytest.fixture(params=SCRIPTS)
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Program:
    return Program(request.param, tmp_path)


def test_the_client_calls_the_real_service(program: Program, fresh: Site) -> None:
    fresh.json("init")
    bot = fresh.json("bot", "list")[0]["id"]
    (fresh.folder / "faq.md").write_text("# What are your opening hours?\nMonday to Friday from 9 to 18.\n")
    fresh.json("knowledge", "add", bot, fresh.folder / "faq.md")
    key = fresh.json("key", "create")["key"]
    body = '{"event":"webhook.test","data":{"message":"ç"}}'.encode()
    with fresh.serve():
        assert fresh.serving
        env = {"BASE_URL": fresh.serving.base_url, "KEY": key, "SIGNATURE": sign("whsec_k", body)}
        assert json.loads(program.run(program.script, body, **env)) == {
            "bots": 1,
            "bot": True,
            "reply": "Monday to Friday from 9 to 18.",
            "once": True,
            "utc": "+00:00",
            "order": True,
            "messages": ["user", "assistant"],
            "used": 2,
            "days": [2],
            "refused": [
                [404, "chatbot_not_found", None, True],
                [404, "conversation_not_found", None, True],
                [400, "missing_message", None, True],
                [502, "assistant_unavailable", "no_answer", True],
                [401, "invalid_api_key", None, True],
            ],
            "verify": [True, False, False],
        }


class Scripted(BaseHTTPRequestHandler):
    """Answers with a list of responses, one after the other, and notes what was asked."""

    answers: list[tuple[int, dict[str, str], bytes]]
    asked: list[tuple[str, str | None]]

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.asked.append((self.path, self.headers["Idempotency-Key"]))
        status, headers, body = self.answers.pop(0)
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815  # http.server's name

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def scripted() -> Iterator[str]:
    Scripted.asked, Scripted.answers = [], []
    with ThreadingHTTPServer(("127.0.0.1", 0), Scripted) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


SEND = {
    "python": """
import os, time
from chatsvc_client import ApiError, Client
time.sleep = print
try:
    print("reply", Client(os.environ["BASE_URL"], "k").send("b", "m").reply)
except ApiError as error:
    print(error.code, error.retryable)
""",
    "js": """
import { Client } from "./chatsvc_client.mjs";
const real = setTimeout;
globalThis.setTimeout = (done, pause, ...more) => {
  if (pause < 500) return real(done, pause, ...more); // the ticks of fetch itself
  console.log(pause / 1000);
  return real(done, 0);
};
try {
  console.log("reply", (await new Client(process.env.BASE_URL, "k").send("b", "m")).reply);
} catch (error) {
  console.log(error.code, error.retryable ? "True" : "False");
}
process.exit(0);
""",
}
REFUSAL = b'{"success": false, "error": "assistant_unavailable", "reason": "%s"}'


def test_what_is_worth_it_is_repeated_under_one_key(program: Program, scripted: str) -> None:
    exchange = b'{"data": {"reply": "Merhaba", "created_at": "2026-11-20T15:14:28.123Z", "new_field": 1}}'
    Scripted.answers = [(503, {}, b"<html>"), (502, {}, REFUSAL % b"busy"), (429, {"Retry-After": "7"}, b"{}"), (200, {}, exchange)]
    lines = program.run(SEND[program.language], BASE_URL=scripted).splitlines()
    assert lines[-1] == "reply Merhaba"
    assert "7" in lines[-2]
    assert len(Scripted.asked) == 4
    assert len(set(Scripted.asked)) == 1
    assert Scripted.asked[0][1]


@pytest.mark.parametrize("reason", [b"no_answer", b"not_configured"])
def test_what_does_not_help_is_not_repeated(reason: bytes, program: Program, scripted: str) -> None:
    Scripted.answers = [(502, {}, REFUSAL % reason)]
    assert program.run(SEND[program.language], BASE_URL=scripted).split() == ["assistant_unavailable", "False"]
    assert len(Scripted.asked) == 1


LIST = {
    "python": """
import os
from chatsvc_client import Client
print(*(bot.name for bot in Client(os.environ["BASE_URL"], "k").chatbots()))
""",
    "js": """
import { Client } from "./chatsvc_client.mjs";
const names = [];
for await (const bot of new Client(process.env.BASE_URL, "k").chatbots()) names.push(bot.name);
console.log(names.join(" "));
process.exit(0);
""",
}


def test_a_list_goes_on_to_its_last_page(program: Program, scripted: str) -> None:
    def page(names: str, cursor: str | None) -> tuple[int, dict[str, str], bytes]:
        known = {"id": "b", "description": None, "model": "m", "active": True, "messages_used": 0}
        times = dict.fromkeys(("created_at", "updated_at"), "2026-11-20T15:14:28.123Z")
        pagination = {"limit": 100, "has_more": cursor is not None, "next_cursor": cursor}
        data = [{"name": name, **known, **times} for name in names]
        return 200, {}, json.dumps({"success": True, "data": data, "pagination": pagination}).encode()

    Scripted.answers = [page("ab", "c+/="), page("c", "d"), page("", None)]
    assert program.run(LIST[program.language], BASE_URL=scripted).split() == ["a", "b", "c"]
    assert [path for path, _ in Scripted.asked] == [
        "/chatbots?limit=100",
        "/chatbots?limit=100&cursor=c%2B%2F%3D",
        "/chatbots?limit=100&cursor=d",
    ]


def test_a_redirect_is_not_followed_with_the_key(program: Program, scripted: str) -> None:
    Scripted.answers = [(307, {"Location": f"{scripted}/elsewhere"}, b"{}")]
    assert program.run(SEND[program.language], BASE_URL=scripted).split()[-1] == "False"
    assert [path for path, _ in Scripted.asked] == ["/messages"]


def test_the_python_client_is_typed(tmp_path: Path) -> None:
    (tmp_path / "chatsvc_client.py").write_text(run("client", "python").out, "utf-8")
    words = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(tmp_path), str(tmp_path / "chatsvc_client.py")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S * 4, check=False)
    assert done.returncode == 0, done.stdout
