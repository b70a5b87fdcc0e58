"""`chatsvc webhook`, `request` and `appointment` with and without a running service. No secret is shown."""

import json
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import IO, Any, cast

import pytest

from chatsvc.domain import webhooks as signing
from chatsvc.store import webhooks
from chatsvc.store.webhooks import Event
from tests.cli.model_thread import ModelThread, ServerThread
from tests.cli.support import PATIENCE_S, Site, refusal, run, start, usage_error
from tests.engines.model_server import ModelServer, calls, says
from tests.store.inspection import query
from tests.store.support import in_database
from tests.webhooks.certificates import Authority
from tests.webhooks.receiver import OK, Receiver
from tests.webhooks.support import headers

ATTEMPT = ["id", "delivery_id", "event", "record_id", "url", "at", "success", "status_code", "error", "duration_ms"]
FAILS = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
NAME, EMAIL, PHONE = "Zübeyde", "zubeyde.gizli@example.com", "+905321112233"
SAID = f"Ben {NAME}, {EMAIL}, {PHONE}. Fren tamiri için beni arayın"


class ReceiverThread(ServerThread):
    """A receiver beside tests that are not asynchronous themselves."""

    def __init__(self, authority: Authority) -> None:
        super().__init__()
        self._tls = authority.server("127.0.0.1")
        self.receiver: Receiver

    @asynccontextmanager
    async def server(self) -> AsyncIterator[str]:
        async with Receiver(self._tls) as self.receiver:
            yield f"https://127.0.0.1:{self.receiver.port}/hook"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def receiving(authority: Authority) -> Iterator[ReceiverThread]:
    with ReceiverThread(authority) as thread:
        yield thread


@pytest.fixture
def hooks(receiving: ReceiverThread) -> ReceiverThread:
    receiving.receiver.answer = OK
    receiving.receiver.heads.clear()
    receiving.receiver.bodies.clear()
    return receiving


@pytest.fixture(scope="module", params=["alone", "served"])
def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[Site]:
    """An installation that may send to this machine."""
    site = Site(tmp_path_factory.mktemp(request.param), settings(authority))
    site.account("first of all")
    if request.param == "alone":
        yield site
        return
    with site.serve():
        yield site
    assert "Traceback" not in site.log.read_text()


def settings(authority: Authority, more: str = "models: {offline: {engine: knowledge}}") -> str:
    return f"webhooks: {{ca_file: {authority.file}, allowed_networks: [127.0.0.0/8], timeout_s: 5}}\n{more}"


@pytest.fixture
def bot(house: Site) -> str:
    return house.bot(house.account())


def set_hook(site: Site, bot: str, url: str = "--pull", *more: str) -> Any:
    return site.json("webhook", "set", bot, url, "--event", "request.created", *more)


def last_signature(hooks: ReceiverThread) -> tuple[bytes, str]:
    return hooks.receiver.bodies[-1], headers(hooks.receiver.heads[-1])["X-Service-Signature"]


def test_the_signing_key_is_shown_when_it_is_made_and_never_again(house: Site, bot: str, hooks: ReceiverThread) -> None:
    hook = set_hook(house, bot, hooks.url)
    key = hook.pop("signing_key")
    assert hook["events"] == ["request.created"]
    again = house.json("webhook", "set", bot, f"{hooks.url}/2", "--event", "appointment.created", "--event", "request.created")
    assert (again["url"], again["events"]) == (f"{hooks.url}/2", ["request.created", "appointment.created"])
    shown = house.json("webhook", "show", bot)
    assert shown == again
    for text in (json.dumps(again), house.run("webhook", "show", bot).out, house.run("bot", "show", bot).out):
        assert "whsec_" not in text
    rotated = house.json("webhook", "rotate", bot)
    assert rotated["signing_key"] != key
    set_hook(house, bot, hooks.url)
    assert house.json("webhook", "test", bot)["success"] is True
    body, signature = last_signature(hooks)
    assert signing.verify(rotated["signing_key"], body, signature)
    assert not signing.verify(key, body, signature)
    assert house.json("webhook", "remove", bot)["removed"] is True
    for command in ("show", "rotate", "remove", "test"):
        assert "has no webhook" in house.refused("webhook", command, bot)
    assert "signing_key" in set_hook(house, bot)


def test_a_test_is_told_as_one_and_recorded(house: Site, bot: str, hooks: ReceiverThread) -> None:
    key = set_hook(house, bot, hooks.url)["signing_key"]
    attempt = house.json("webhook", "test", bot)
    assert list(attempt) == ATTEMPT
    assert (attempt["event"], attempt["success"], attempt["status_code"], attempt["error"]) == ("webhook.test", True, 200, None)
    body, signature = last_signature(hooks)
    assert signing.verify(key, body, signature)
    envelope = json.loads(body)
    assert envelope["delivery_id"] == attempt["delivery_id"]
    assert envelope["data"]["is_test"] is True
    assert envelope["data"]["id"] == attempt["record_id"]
    hooks.receiver.answer = FAILS
    failed = house.refused_with("webhook", "test", bot)
    assert (failed["success"], failed["status_code"], failed["error"]) == (False, 503, "http_status")
    assert house.json("webhook", "attempts", bot) == [failed, attempt]
    assert house.json("webhook", "attempts", bot, "--limit", "1") == [failed]
    hooks.receiver.answer = OK
    again = house.json("webhook", "resend", failed["id"])
    assert again["record_id"] == failed["record_id"]
    assert again["delivery_id"] != failed["delivery_id"]
    assert "no attempt" in house.refused("webhook", "resend", "nothing")


@pytest.mark.parametrize("house", ["alone"], indirect=True)
def test_what_may_not_be_set_is_refused(house: Site, bot: str, hooks: ReceiverThread) -> None:
    poor = house.bot(house.account("Poor", plan="starter"))
    set_hook(house, bot)
    for words, reason in (
        (f"set {bot} https://10.1.2.3/ --event request.created", "the address is refused"),
        (f"set {bot} https://user:pw@example.com/ --event request.created", "the address is refused"),
        (f"set {bot} {hooks.url} --event webhook.test", "cannot be chosen"),
        (f"set {poor} {hooks.url} --event request.created", "has no webhooks"),
        (f"test {bot}", "--pull"),
        (f"resend --bot {bot} --failed-since yesterday", "is no time"),
        (f"forward {bot} http://127.0.0.1:9/ --since yesterday", "is no time"),
        ("show nobody", "no bot"),
    ):
        assert reason in house.refused("webhook", *words.split())
    for words, reason in (
        (f"set {bot} --event request.created", "give a URL or --pull"),
        (f"set {bot} {hooks.url} --pull --event request.created", "give a URL or --pull"),
        (f"set {bot} {hooks.url}", "--event"),
        ("resend", "ATTEMPT"),
    ):
        usage_error(house.run("webhook", *words.split()), reason)


def insert(site: Site, bot: str, count: int, state: int) -> None:
    """Events straight into the store of a service that does not run."""

    def unit(connection: Any) -> None:
        for number in range(count):
            event = Event(0, bot, "request.created", f"record-{number}", f'{{"id":"record-{number}"}}', 1000)
            webhooks.add_event(connection, event, state)

    in_database(site.data / "chatsvc.db", lambda db: db.write(unit))


def wait_for(condition: Any) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_resend_failed_sends_each_event_once_and_only_what_failed_last(fresh: Site, authority: Authority, hooks: ReceiverThread) -> None:
    site = Site(fresh.folder, settings(authority))
    bot = site.bot(site.account())
    set_hook(site, bot, hooks.url)
    insert(site, bot, 3, webhooks.PENDING)
    hooks.receiver.answer = FAILS
    with site.serve():
        wait_for(lambda: [a["success"] for a in site.json("webhook", "attempts", bot)] == [False] * 3)
    first = site.json("webhook", "attempts", bot)
    assert [a["success"] for a in site.refused_with("webhook", "resend", "--bot", bot, "--failed-since", "2026-01-01T00:00")] == [False] * 3
    hooks.receiver.answer = OK
    assert site.json("webhook", "resend", first[0]["id"])["success"] is True
    assert site.json("webhook", "resend", "--bot", bot, "--failed-since", "2999-01-01") == []
    sent = site.json("webhook", "resend", "--bot", bot, "--failed-since", "2026-01-01")
    assert sorted(a["record_id"] for a in sent) == sorted(a["record_id"] for a in first[1:])
    assert all(a["success"] for a in sent)
    assert site.json("webhook", "resend", "--bot", bot, "--failed-since", "2026-01-01") == []


def test_verify_tells_right_from_wrong(tmp_path: Path) -> None:
    key, body = tmp_path / "key", tmp_path / "body"
    secret = signing.generate_signing_key()
    key.write_text(secret + "\n")
    body.write_bytes(b'{"a":1}\n')
    good = signing.sign(secret, body.read_bytes())

    def verify(signature: str) -> tuple[int, Any]:
        done = run("webhook", "verify", "--signing-key-file", key, "--signature", signature, body, "--json")
        return done.status, json.loads(done.out)

    assert verify(good) == (0, {"valid": True})
    assert verify("sha256=" + "0" * 64) == (1, {"valid": False})
    body.write_bytes(b'{"a":1}')
    assert verify(good) == (1, {"valid": False})
    body.write_bytes(b'{"a":1}\n')
    key.write_text(signing.generate_signing_key())
    assert verify(good) == (1, {"valid": False})
    key.write_text("\n")  # with an empty key anybody could sign
    empty = run("webhook", "verify", "--signing-key-file", key, "--signature", good, body)
    assert (empty.status, "does not hold a signing key" in empty.err) == (1, True)


@contextmanager
def started(*arguments: str | Path) -> Iterator[Callable[[], Any]]:
    """A command that goes on until it is told to end; calling it reads a line of its JSON."""
    command = start(*arguments, "--json")
    with closing(command), cast("IO[bytes]", command.stdout) as output:
        yield lambda: json.loads(output.readline())
        command.send_signal(signal.SIGINT)
        assert command.wait(PATIENCE_S) == 0


def test_kept_events_are_forwarded_to_a_listener_that_verifies_them(fresh: Site, tmp_path: Path) -> None:
    bot = fresh.bot(fresh.account())
    key = tmp_path / "key"
    key.write_text(set_hook(fresh, bot)["signing_key"])
    insert(fresh, bot, 3, webhooks.KEPT)
    with started("webhook", "listen", "--port", "0", "--signing-key-file", key) as heard:
        url = heard()["url"]
        done = fresh.run("webhook", "forward", bot, url, "--json")
        assert done.status == 0, done
        assert [(line["record_id"], line["success"]) for line in json.loads(done.out)] == [(f"record-{n}", True) for n in range(3)]
        deliveries = [heard() for _ in range(3)]
        assert [(line["valid"], line["body"]["data"]["id"]) for line in deliveries] == [(True, f"record-{n}") for n in range(3)]
        assert fresh.run("webhook", "forward", bot, url, "--since", "2999-01-01").out == ""
        with started("-c", fresh.config, "webhook", "forward", bot, url, "--follow") as forwarded:
            assert [forwarded()["success"] for _ in range(3)] == [True] * 3
            insert(fresh, bot, 1, webhooks.KEPT)
            assert forwarded()["success"] is True
        for _ in range(4):
            heard()
        # The listener's key is an old one from now on: the first refusal ends it.
        fresh.json("webhook", "rotate", bot)
        done = fresh.run("webhook", "forward", bot, url, "--json")
        assert done.status == 1
        assert [line["error"] for line in json.loads(done.out)] == ["http_status (401)"]
        assert heard()["valid"] is False


def test_a_listener_whose_port_is_taken_says_so(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("whsec_x")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = run("webhook", "listen", "--port", str(port), "--signing-key-file", tmp_path / "key")
    assert refusal(done) == f"cannot listen on 127.0.0.1:{port}: another program listens there"


def test_records_are_listed_and_moved_on_and_nothing_secret_is_told(fresh: Site, authority: Authority, hooks: ReceiverThread) -> None:
    """One message from the visitor to the receiver, then all commands and files are searched."""
    wish = {"request_type": "contact", "quotes": [SAID], "visitor_name": NAME, "visitor_email": EMAIL, "visitor_phone": PHONE}
    when = {"date": "2027-03-01", "time": "10:30", "quotes": [SAID], "visitor_name": NAME, "visitor_email": EMAIL}

    async def step(server: ModelServer, request: Any) -> Any:
        if len(server.seen[-1].body["messages"]) % 2:
            last = server.seen[-1].body["messages"][-1]["content"]
            if not (isinstance(last, list) and last[-1].get("type") == "tool_result"):
                return await calls(("note_request", wish), ("note_appointment", when))(server, request)
        return await says("Not aldım.")(server, request)

    with ModelThread(step) as model:
        tier = "models: {m: {engine: anthropic, model: m, input_usd_per_mtok: 1, output_usd_per_mtok: 1}}"
        engine = f'engines: {{anthropic: {{base_url: "{model.url}", api_key: sk-the-providers-key}}}}\n{tier}'
        site = Site(fresh.folder, settings(authority, engine))
        account = site.account()
        bot, key = site.bot(account), site.key(account)
        secrets = [set_hook(site, bot, hooks.url)["signing_key"], key, "sk-the-providers-key"]
        with site.serve() as serving:
            fresh.serving = serving
            answer = serving.ask(key, "POST", "/messages", {"chatbot_id": bot, "message": SAID, "user_id": "v"})
            assert answer.json["data"]["reply"] == "Not aldım."
            wait_for(lambda: [a["success"] for a in site.json("webhook", "attempts", bot)] == [True])
            hooks.receiver.answer = FAILS
            site.refused_with("webhook", "test", bot)
            secrets.append(site.json("webhook", "rotate", bot)["signing_key"])
            (request,) = site.json("request", "list", bot)
            (appointment,) = site.json("appointment", "list", bot)
            assert (request["visitor_email"], appointment["request_id"]) == (EMAIL, request["id"])
            assert site.json("request", "set", request["id"], "--status", "done")["status"] == "done"
            assert site.json("appointment", "set", appointment["id"], "--status", "confirmed")["status"] == "confirmed"
            outputs = [
                site.refused("request", "set", request["id"], "--status", "gone"),
                site.refused("request", "set", "x", "--status", "done"),
            ]
            outputs += [site.refused("appointment", "set", appointment["id"], "--status", "new"), site.run("webhook", "attempts", bot).out]
            commands = Path(f"/proc/{serving.process.pid}/cmdline").read_bytes().decode()
            assert serving.end() == 0
        # What went wrong inside is logged too, whole, and still without them.
        query(site.data / "chatsvc.db", "UPDATE webhooks SET signing_key = x'01'")
        query(site.data / "chatsvc.db", "UPDATE webhook_events SET state = 0")
        with site.serve() as serving:
            wait_for(lambda: site.json("webhook", "attempts", bot)[0]["error"] == "unusable_key")
            assert serving.end() == 0
    everything = "\n".join([site.log.read_text(), commands, *outputs])
    assert "cannot be signed" in everything
    for secret in (*secrets, NAME, EMAIL, PHONE, "905321112233", "whsec_", "Fren tamiri"):
        assert secret not in everything, secret


def test_with_egress_none_nothing_is_forwarded_and_a_target_is_set_unasked(tmp_path: Path) -> None:
    site = Site(tmp_path, "egress: none\nmodels: {offline: {engine: knowledge}}")
    bot = site.bot(site.account())
    assert site.json("webhook", "set", bot, "https://hooks.invalid/in", "--event", "request.created")["url"] == "https://hooks.invalid/in"
    tested = site.run("webhook", "test", bot, "--json")
    assert (tested.status, json.loads(tested.out)["error"]) == (1, "egress_refused")
    refusal = site.refused("webhook", "forward", bot, "http://127.0.0.1:9/")
    assert refusal == "the configuration says egress: none, so nothing is sent"
