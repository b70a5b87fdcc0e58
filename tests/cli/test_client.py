"""`chatsvc client`: both clients call the real service, repeat what is worth it, and verify webhooks."""

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

CLIENTS = Path(__file__).parent / "clients"
PROGRAMS = {"python": (sys.executable, "chatsvc_client.py", "use.py", ".py.txt"), "js": ("node", "chatsvc_client.mjs", "use.mjs", ".mjs")}


class Program:
    """A program that uses a client."""

    def __init__(self, language: str, folder: Path) -> None:
        program, file, self.name, self.ending = PROGRAMS[language]
        self.interpreter = shutil.which(program)
        if self.interpreter is None:
            pytest.skip(f"{program} is not on this machine")
        self.folder = folder
        (folder / file).write_text(run("client", language).out, "utf-8")

    def run(self, script: str, stdin: bytes = b"", **env: str) -> str:
        """Run a script of the folder `clients` beside the client and return its output."""
        shutil.copy(CLIENTS / f"{script}{self.ending}", self.folder / self.name)
        assert self.interpreter
        words = [self.interpreter, self.name]
        done = subprocess.run(words, cwd=self.folder, env=env, input=stdin, capture_output=True, timeout=PATIENCE_S, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()


@pytest.fixture(params=PROGRAMS)
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
        assert json.loads(program.run("use", body, **env)) == {
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


REFUSAL = b'{"success": false, "error": "assistant_unavailable", "reason": "%s"}'


def test_what_is_worth_it_is_repeated_under_one_key(program: Program, scripted: str) -> None:
    exchange = b'{"data": {"reply": "Merhaba", "created_at": "2026-11-20T15:14:28.123Z", "new_field": 1}}'
    Scripted.answers = [(503, {}, b"<html>"), (502, {}, REFUSAL % b"busy"), (429, {"Retry-After": "7"}, b"{}"), (200, {}, exchange)]
    lines = program.run("send", BASE_URL=scripted).splitlines()
    assert lines[-1] == "reply Merhaba"
    assert "7" in lines[-2]
    assert len(Scripted.asked) == 4
    assert len(set(Scripted.asked)) == 1
    assert Scripted.asked[0][1]


@pytest.mark.parametrize("reason", [b"no_answer", b"not_configured"])
def test_what_does_not_help_is_not_repeated(reason: bytes, program: Program, scripted: str) -> None:
    Scripted.answers = [(502, {}, REFUSAL % reason)]
    assert program.run("send", BASE_URL=scripted).split() == ["assistant_unavailable", "False"]
    assert len(Scripted.asked) == 1


def test_a_list_goes_on_to_its_last_page(program: Program, scripted: str) -> None:
    def page(names: str, cursor: str | None) -> tuple[int, dict[str, str], bytes]:
        known = {"id": "b", "description": None, "model": "m", "active": True, "messages_used": 0}
        times = dict.fromkeys(("created_at", "updated_at"), "2026-11-20T15:14:28.123Z")
        pagination = {"limit": 100, "has_more": cursor is not None, "next_cursor": cursor}
        data = [{"name": name, **known, **times} for name in names]
        return 200, {}, json.dumps({"success": True, "data": data, "pagination": pagination}).encode()

    Scripted.answers = [page("ab", "c+/="), page("c", "d"), page("", None)]
    assert program.run("list", BASE_URL=scripted).split() == ["a", "b", "c"]
    assert [path for path, _ in Scripted.asked] == [
        "/chatbots?limit=100",
        "/chatbots?limit=100&cursor=c%2B%2F%3D",
        "/chatbots?limit=100&cursor=d",
    ]


def test_a_redirect_is_not_followed_with_the_key(program: Program, scripted: str) -> None:
    Scripted.answers = [(307, {"Location": f"{scripted}/elsewhere"}, b"{}")]
    assert program.run("send", BASE_URL=scripted).split()[-1] == "False"
    assert [path for path, _ in Scripted.asked] == ["/messages"]
