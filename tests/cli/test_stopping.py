"""SIGTERM: what is being answered is answered, written and told; then the service ends with 0."""

import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from aiohttp import web

from tests.cli import support
from tests.cli.model_thread import ModelThread, after, settings
from tests.cli.support import Response, Serving, Site, refusal
from tests.engines.model_server import ModelServer, hangs, says


class Asking(threading.Thread):
    """One message on its way."""

    def __init__(self, serving: Serving, key: str, bot: str) -> None:
        super().__init__()
        self._serving, self._key = serving, key
        self._body = {"chatbot_id": bot, "message": "take your time", "user_id": "v"}
        self.answer: Response | None = None
        self.start()

    def run(self) -> None:
        self.answer = self._serving.ask(self._key, "POST", "/messages", self._body)


@pytest.mark.parametrize(
    "signals",
    [[signal.SIGTERM], [signal.SIGINT, signal.SIGTERM, signal.SIGINT]],
    ids=["SIGTERM", "Ctrl+C and all of them"],
)
def test_an_answer_under_way_is_finished_written_and_told(tmp_path: Path, signals: list[signal.Signals]) -> None:
    let_go = threading.Event()
    with ModelThread(after(let_go)) as model:
        site = Site(tmp_path, settings(model.url))
        account = site.account()
        bot, key = site.bot(account), site.key(account)
        with site.serve() as serving:
            waiting = idle_connection(serving)
            asking = Asking(serving, key, bot)
            assert model.asked.wait(20)
            for number in signals:
                serving.process.send_signal(number)
                time.sleep(0.1)
            # Nobody new is let in, and what comes on a connection that is open is the last there.
            while not is_refused(serving, key):
                time.sleep(0.02)
            waiting.request("GET", "/api/v2/chatbots", headers={"Authorization": f"Bearer {key}"})
            late = waiting.getresponse()
            assert (late.status, late.getheader("Connection")) == (200, "close")
            assert b'"success":true' in late.read()
            waiting.close()
            let_go.set()
            asking.join(20)
            assert asking.answer is not None
            assert asking.answer.status == 200
            assert asking.answer.json["data"]["reply"] == "slow but sure"
            assert serving.wait() == 0
        conversation = site.json("conversation", "list", "--bot", bot)[0]
        messages = site.json("conversation", "show", conversation["id"])["messages"]
        assert [message["content"] for message in messages] == ["take your time", "slow but sure"]
        assert site.json("account", "show", account)["messages_used"] == 1
        assert site.json("key", "list")[0]["last_used_at"] is not None
        log = site.log.read_text()
        assert "Traceback" not in log
        assert '"level": "error"' not in log


def is_refused(serving: Serving, key: str) -> bool:
    try:
        serving.ask(key, "GET", "/chatbots")
    except OSError as fault:
        return isinstance(fault, ConnectionRefusedError)  # it may be reset while the listener is closed
    return False


def idle_connection(serving: Serving) -> HTTPConnection:
    """A connection that is open and has been used."""
    parts = urlsplit(serving.url)
    assert parts.hostname
    connection = HTTPConnection(parts.hostname, parts.port, timeout=20)
    connection.request("GET", "/api/v2/chatbots")
    connection.getresponse().read()
    return connection


def test_a_model_that_never_answers_holds_the_stop_until_the_deadline_and_costs_nothing(tmp_path: Path) -> None:
    answering = threading.Event()
    answering.set()

    async def answers_then_hangs(server: ModelServer, request: web.Request) -> web.StreamResponse:
        return await (says("hello") if answering.is_set() else hangs())(server, request)

    with ModelThread(answers_then_hangs) as model:
        site = Site(tmp_path, settings(model.url, timeout_s=1.5))
        account = site.account()
        bot, key = site.bot(account), site.key(account)
        with site.serve() as serving:
            # Until the provider's library has been loaded, which takes of the first deadlines.
            while serving.ask(key, "POST", "/messages", {"chatbot_id": bot, "message": "hello"}).status != 200:
                pass
            answering.clear()
            model.asked.clear()
            asking = Asking(serving, key, bot)
            assert model.asked.wait(20)
            started = time.monotonic()
            assert serving.end() == 0
            assert time.monotonic() - started < 20
            asking.join(20)
            assert asking.answer is not None
            assert (asking.answer.status, asking.answer.json["reason"]) == (502, "timeout")
        assert site.json("account", "show", account)["messages_used"] == 1
        assert len(site.json("conversation", "list")) == 1


def test_a_service_with_idle_connections_stops_at_once(fresh: Site) -> None:
    with fresh.serve() as serving:
        idle = [idle_connection(serving) for _ in range(5)]
        started = time.monotonic()
        assert serving.end() == 0
        assert time.monotonic() - started < 20
        for connection in idle:
            connection.close()
    assert "Traceback" not in fresh.log.read_text()


def test_a_service_that_is_told_to_stop_while_it_starts_ends_cleanly(fresh: Site) -> None:
    account = fresh.account()
    for delay in (0.0, 0.3, 0.5):
        with Serving(fresh.config, fresh.log, fresh.folder, ready=False) as serving:
            time.sleep(delay)
            status = serving.end()
            # Before Python has come to set its handler the signal ends the process as it would any other.
            assert status in {0, -signal.SIGTERM}
        assert "Traceback" not in fresh.log.read_text()
        assert fresh.json("account", "list")[0]["id"] == account


SLOW = """
import time
from pathlib import Path
from chatsvc.services.accounts import analytics
async def slow(services, caller, *, account: str, days: int):
    Path("asked").touch()
    return await services.offload(lambda: time.sleep(60))
analytics.show = slow
from chatsvc.cli.main import main
main()
"""


@pytest.mark.parametrize(("end", "status"), [(signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)])
def test_work_that_takes_long_does_not_keep_the_service_from_stopping_and_its_command_says_that_it_does_not_know(
    fresh: Site, monkeypatch: pytest.MonkeyPatch, end: signal.Signals, status: int
) -> None:
    program = fresh.folder / "slow.py"
    program.write_text(SLOW)
    account = fresh.account()
    with monkeypatch.context() as patched:
        patched.setattr(support, "CHATSVC", (sys.executable, str(program)))
        serving = Serving(fresh.config, fresh.log, fresh.folder)
    with serving, ThreadPoolExecutor() as executor:
        asking = executor.submit(fresh.run, "usage", account)
        while not (fresh.folder / "asked").exists():
            assert not asking.done()
            time.sleep(0.01)
        began = time.monotonic()
        assert serving.end(end) == status
        assert time.monotonic() - began < 20
        assert refusal(asking.result()).startswith("the service went away before it answered")
    assert "Traceback" not in fresh.log.read_text()
