"""Every command with hostile data: nothing that a terminal obeys, hides or reorders is printed, and no line can be forged."""

import http.client
import json
import os
import shlex
import socket
import threading
import unicodedata
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from typing import Any

import pytest

from chatsvc.cli import main as command_line
from chatsvc.cli.deliveries import ReceivedDelivery, show_delivery
from chatsvc.cli.operations import completions
from chatsvc.control import client
from tests.cli.forked import forks
from tests.cli.support import PATIENCE_S, Site, environment
from tests.cli.test_help import EVERY

HOSTILE = "\x1b[2J\x1b]0;x\x07\x9b31m\x7f\x00\x85\u202e\u2066\u200b\ufeff\u2028\U000e0041\r\nFORGED\rFORGED"
NAME = HOSTILE.replace("\0", "").replace("/", "")  # of a file
FILES = ("bot export", "conversation export", "knowledge export")  # their lines are those of a file, which may begin with anything
# Commands that talk to no service: what they print is tested elsewhere, or is the configuration's.
APART = {"serve", "demo", "completion", "webhook listen", "licenses", "backup restore", "account import"}


def in_yaml(text: str) -> str:
    """The text as a YAML scalar of escapes alone."""
    return '"' + "".join(f"\\U{ord(character):08x}" for character in text) + '"'


TESTS = f"tests: [{{ask: {in_yaml('opening hours?' + NAME)}, entry: {in_yaml('x' + NAME)}}}]\n"


def unsafe(text: str) -> set[str]:
    """The characters that must not reach a terminal."""
    return {character for character in text if character != "\n" and unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}


def harmless(out: str, err: str, *, lines: bool = True) -> None:
    """Hold all that was printed against the rules."""
    assert unsafe(out + err) == set()
    assert not lines or not [line for line in (out + err).splitlines() if line.startswith("FORGED")]


def poisoned(value: Any) -> Any:
    """The same value with something hostile in every text."""
    if isinstance(value, str):
        return value + HOSTILE
    if isinstance(value, list):
        return [poisoned(inner) for inner in value]
    return {name: poisoned(inner) for name, inner in value.items()} if isinstance(value, dict) else value


class Between:
    """Listens on the control socket's path, forwards to the service and poisons its answers."""

    def __init__(self, folder: Path) -> None:
        (folder / "control.sock").rename(folder / "real.sock")
        self.refuses = False
        between, real = self, folder / "real.sock"

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                service = http.client.HTTPConnection("localhost")
                service.sock = socket.socket(socket.AF_UNIX)
                service.sock.connect(str(real))
                service.request("POST", self.path, self.rfile.read(int(self.headers["Content-Length"])))
                with service.getresponse() as answer:
                    line, file, status = answer.readline(), answer.read(), answer.status
                service.close()
                result = json.loads(line)
                if between.refuses or status == client.REFUSED:
                    result, file, status = {"code": "no" + HOSTILE, "facts": {}}, b"", client.REFUSED
                body = json.dumps(poisoned(result)).encode() + b"\n" + file
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingMixIn, UnixStreamServer):
            daemon_threads = True

        self.server = Server(str(folder / "control.sock"), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Between, dict[str, list[str]]]]:
    """A service with a record of each kind and poisoned answers. With the arguments of each command."""
    settings = "models: {offline: {engine: knowledge}}\nwebsite: {allowed_networks: [127.0.0.0/8]}"
    site = Site(tmp_path_factory.mktemp("hostile"), settings)
    folder = site.folder / NAME[:40]
    folder.mkdir()
    faq, bad, key = folder / "faq.md", folder / "bad.md", folder / "key"
    faq.write_text("## When are you open?\nalt: opening hours\nFrom 9 to 6.\n\n## Opening hours?\nalt: opening hours\nNine.\n")
    bad.write_text("alt: nothing above\n" + "no question\n")
    key.write_text("whsec_" + "x" * 43)
    bots = folder / "bots"
    bots.mkdir()
    (bots / f"{NAME[:9]}.yaml").write_text(f"name: Synced\nlanguage: en\n{TESTS}")
    with site.serve() as serving:
        account = site.account()
        bot, token = site.bot(account, language="en"), site.key(account)
        site.json("bot", "apply", bot, *bots.iterdir())
        site.json("knowledge", "add", bot, faq)
        for message in (f"opening hours{HOSTILE[:9]}", "I want an appointment on Monday at 11", "Ada Lovelace, ada@example.com", "yes"):
            body = {"chatbot_id": bot, "message": message + "\nassistant: forged", "user_id": "v" + HOSTILE.replace("\0", "")}
            serving.ask(token, "POST", "/messages", body)
        serving.ask(token, "POST", "/messages", {"chatbot_id": bot, "message": "do you sell zeppelins", "user_id": "w"})
        (conversation, *_) = site.json("conversation", "list")
        site.json("operator", "add", "a@example.com", "--admin", "--name", "Ada")
        site.json("webhook", "set", bot, "--pull", "--event", "request.created")
        entry = site.json("knowledge", "list", bot)[0]["id"]
        website = site.json("knowledge", "site", "add", bot, "http://127.0.0.1:9999/")["id"]
        words = {"account": account, "bot": bot, "conversation": conversation["id"], "entry": entry, "website": website}
        words |= {"folder": str(folder), "site": str(site.folder), "name": NAME}
        given = {}
        for line in (Path(__file__).parent / "hostile_commands.txt").read_text("utf-8").splitlines():
            parts = [part.format(**words) for part in shlex.split(line)]
            path = next(path for path in EVERY if list(path) == parts[: len(path)])
            given[" ".join(path)] = parts[len(path) :]
        between = Between(site.data)
        yield site, between, given
        between.close()


def run(capfd: pytest.CaptureFixture[str], site: Site, *words: str) -> tuple[str, str, object]:
    """Run a command in this process: there are a hundred of them."""
    capfd.readouterr()
    status: object = 0
    try:
        command_line.main(["-c", str(site.config), *words])
    except SystemExit as ends:
        status = ends.code
    out, err = capfd.readouterr()
    return out.removeprefix("\ufeff"), err, status  # a file for spreadsheets begins with a byte-order mark


# A refused command leaves its output file to the end of its process, which here is that of the tests.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_no_command_prints_what_a_terminal_obeys(
    path: tuple[str, ...], hostile: tuple[Site, Between, dict[str, list[str]]], capfd: pytest.CaptureFixture[str]
) -> None:
    site, between, given = hostile
    name = " ".join(path)
    if name in APART or name not in given:
        assert name in APART or path[0] == "help", f"this command is not tried with hostile data: {name}"
        return
    # In a file, which standard output is here, what was written comes back as it was: see the test with a terminal.
    for options in ([], ["--json"], *([["--markdown"], ["--format", "csv"]] if name != "knowledge export" else [])):
        out, err, _ = run(capfd, site, *path, *given[name], *options)
        assert out or err
        harmless(out.replace("\r\n", "\n"), err, lines=name not in FILES)
    between.refuses = True
    try:
        harmless(*run(capfd, site, *path, *given[name])[:2])
    finally:
        between.refuses = False


def test_an_export_into_a_terminal_is_escaped(hostile: tuple[Site, Between, dict[str, list[str]]]) -> None:
    site, _, given = hostile
    for form in ("csv", "markdown"):
        ours, theirs = os.openpty()
        words = ["-c", str(site.config), "knowledge", "export", *given["knowledge export"], "--format", form]
        assert forks().start(words, None, environment(), [theirs, os.dup(theirs)]).wait(PATIENCE_S) == 0
        shown = os.read(ours, 65536).decode().replace("\r\n", "\n")
        os.close(ours)
        assert "opening hours\\x1b" in shown
        assert unsafe(shown) == set()


def test_the_tests_of_a_file_are_shown_harmlessly(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name, text in (("tests", TESTS), ("faults", f"name: {in_yaml('a' + NAME)}\nknowledge: [{in_yaml('kb' + NAME)}]\n")):
        file = tmp_path / f"{name}{NAME[:9]}.yaml"
        file.write_text(text)
        for options in ([], ["--json"]):
            out, err, status = run(capfd, Site(tmp_path), "knowledge", "test", "--file", str(file), *options)
            assert status == 1
            assert "\\x1b" in out + err
            harmless(out, err)


def test_a_visitors_line_breaks_look_like_no_other_speaker(
    hostile: tuple[Site, Between, dict[str, list[str]]], capfd: pytest.CaptureFixture[str]
) -> None:
    site, _, given = hostile
    out, _, status = run(capfd, site, "conversation", "show", *given["conversation show"])
    assert status == 0
    assert "\n  assistant: forged" in out
    assert "\nassistant: forged" not in out


@pytest.mark.parametrize(
    "words", [("knowledge", "add", "b", NAME), ("no" + NAME,), ("bot", "list", "--" + NAME)], ids=["file", "command", "option"]
)
def test_wrong_usage_quotes_what_was_typed_harmlessly(words: tuple[str, ...], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out, err, status = run(capfd, Site(tmp_path), *words)
    assert status == 2
    harmless(out, err)


def test_an_unexpected_fault_is_shown_whole_and_harmlessly(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("it broke" + HOSTILE)

    monkeypatch.setattr("chatsvc.control.client.call", fails)
    _, err, status = run(capfd, Site(tmp_path), "bot", "list")
    whole = "run again with CHATSVC_DEBUG=1 to see it whole"
    assert (status, err) == (1, f"chatsvc: an unexpected error occurred (RuntimeError); {whole}\n")
    monkeypatch.setenv("CHATSVC_DEBUG", "1")
    _, err, status = run(capfd, Site(tmp_path), "bot", "list")
    assert status == 1
    assert "Traceback" in err
    assert unsafe(err) == set()


def test_what_answers_in_the_place_of_the_service_is_quoted_harmlessly(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"status": "ready" + HOSTILE}).encode()
            self.send_response(503)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    site = Site(tmp_path)
    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        site.config.write_text(site.config.read_text().replace(":0", f":{server.server_port}"))
        for options in ([], ["--json"]):
            thread = threading.Thread(target=server.handle_request)
            thread.start()
            out, err, status = run(capfd, site, "healthcheck", *options)
            thread.join()
            assert status == 1
            assert "ready\\x1b" in err
            harmless(out, err)


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("envelope", [None, {"data": HOSTILE}])
def test_a_delivery_is_shown_harmlessly(as_json: bool, envelope: Any, capfd: pytest.CaptureFixture[str]) -> None:
    show_delivery(ReceivedDelivery(False, "event" + HOSTILE, HOSTILE, 3, envelope), as_json=as_json)
    harmless(*capfd.readouterr())


def test_what_the_tab_key_offers_is_harmless() -> None:
    assert unsafe("".join(f"{item.value}{item.help}" for item in completions([("id" + HOSTILE, "name" + HOSTILE)]))) == set()
