"""Three processes over one PostgreSQL, killed at random moments: the store is compared with what callers were told."""

from __future__ import annotations

import http.client
import json
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import pytest

from tests.cli.support import Serving
from tests.processes.conftest import NewSite
from tests.processes.support import PostgresSite
from tests.processes.test_serving import begin, fixed_port, restart

LIMIT = 40  # messages of the account that many want to use up
SETTINGS = "limits: {requests_per_minute: 1000000, connections_per_address: 1000}\nmaster_key:"


class Answer(NamedTuple):
    """The answer that ended a caller's attempts with one message."""

    user_id: str
    message: str
    status: int
    reply: str | None


class Caller(threading.Thread):
    """Sends messages of one visitor, each with an Idempotency-Key until it is answered: every refused attempt is tried again."""

    def __init__(self, name: str, key: str, bot: str, ports: list[int]) -> None:
        super().__init__(name=name, daemon=True)
        self._key, self._bot, self._ports = key, bot, ports
        self.ended = threading.Event()
        self.answers: list[Answer] = []
        self.statuses: Counter[int | str] = Counter()

    def run(self) -> None:
        """Send until told to end."""
        number = 0
        while not self.ended.is_set():
            number += 1
            self.answers.append(self._send(f"message {number}"))
            time.sleep(0.01)

    def _send(self, message: str) -> Answer:
        body = json.dumps({"chatbot_id": self._bot, "message": message, "user_id": self.name})
        key = f"{self.name} {message}".replace(" ", "-")
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json", "Idempotency-Key": key}
        for attempt in range(100_000):
            connection = http.client.HTTPConnection("127.0.0.1", self._ports[(attempt + len(message)) % len(self._ports)], timeout=40)
            try:
                connection.request("POST", "/api/v2/messages", body, headers)
                response = connection.getresponse()
                told = json.loads(response.read())
            except (OSError, http.client.HTTPException) as fault:
                self.statuses[type(fault).__name__] += 1
                time.sleep(0.02)
                continue
            finally:
                connection.close()
            self.statuses[response.status] += 1
            if response.status in (200, 402):
                return Answer(self.name, message, response.status, told["data"]["reply"] if response.status == 200 else None)
            time.sleep(0.05)
        raise TimeoutError(message)


class Service:
    """Three processes with callers of two accounts, one of which may send LIMIT messages."""

    def __init__(self, sites: list[PostgresSite], stack: ExitStack) -> None:
        self.sites, self._stack = sites, stack
        for site in sites:
            site.change("master_key:", SETTINGS)
        self.ports = [fixed_port(site) for site in sites]
        self.made = begin(sites[0])
        self.account = self.made["account"]["id"]
        self.small = sites[0].account("Small")
        sites[0].json("account", "set", self.small, "--messages-limit", str(LIMIT))
        small = sites[0].bot(self.small, model="offline"), sites[0].key(self.small)
        self.processes: list[Serving] = [stack.enter_context(site.serve()) for site in sites]
        wanted = [(f"v{number}", self.made["key"]["key"], self.made["bot"]["id"]) for number in range(4)]
        wanted += [(f"s{number}", small[1], small[0]) for number in range(2)]
        self.callers = [Caller(name, key, bot, self.ports) for name, key, bot in wanted]

    def kill(self, place: int) -> None:
        """Kill a process and start it again."""
        self.processes[place].end(signal.SIGKILL)
        site = self.sites[place]
        self.processes[place] = self._stack.enter_context(Serving(site.config, site.log, site.folder))

    def stop(self) -> None:
        """Let the callers end with what they have begun."""
        for caller in self.callers:
            caller.ended.set()
        for caller in self.callers:
            caller.join(60)
            assert not caller.is_alive(), caller.statuses

    @property
    def statuses(self) -> Counter[int | str]:
        """All attempts of all callers by their outcome."""
        return sum((caller.statuses for caller in self.callers), Counter())

    def check(self) -> None:
        """Compare the store with the answers: nothing lost, nothing doubled, nothing over the limit."""
        answers = [answer for caller in self.callers for answer in caller.answers]
        assert set(self.statuses) & {400, 401, 403, 404, 409, 429, 500} == set(), self.statuses
        told = {
            caller.name: [
                part
                for answer in caller.answers
                if answer.status == 200
                for part in (("user", answer.message), ("assistant", answer.reply))
            ]
            for caller in self.callers
        }
        stored: dict[str, list[Any]] = {caller.name: [] for caller in self.callers}
        for user_id, role, content in self.sites[0].rows(
            "SELECT c.user_id, m.role, m.content FROM messages m JOIN conversations c ON c.number = m.conversation ORDER BY m.number"
        ):
            stored[user_id].append((role, content))
        assert stored == told
        used = dict(self.sites[0].rows("SELECT account_id, sum(messages_used)::bigint FROM allowances GROUP BY account_id"))
        records = dict(self.sites[0].rows("SELECT account_id, count(*) FROM usage_records GROUP BY account_id"))
        small = sum(answer.status == 200 for answer in answers if answer.user_id.startswith("s"))
        assert used == records == {self.account: sum(answer.status == 200 for answer in answers) - small, self.small: small}
        assert small <= LIMIT
        if any(answer.status == 402 for answer in answers):
            assert small == LIMIT


@pytest.fixture
def service(new_site: NewSite) -> Iterator[Service]:
    """Three processes, with callers that send."""
    with running(new_site) as made:
        yield made


@contextmanager
def running(new_site: NewSite) -> Iterator[Service]:
    """Start the processes and the callers."""
    with ExitStack() as stack:
        made = Service([new_site(name) for name in ("one", "two", "three")], stack)
        for caller in made.callers:
            caller.start()
        try:
            yield made
        finally:
            for caller in made.callers:
                caller.ended.set()


def test_processes_that_are_killed_at_random_moments_lose_and_double_nothing(service: Service, pytestconfig: pytest.Config) -> None:
    chance = random.Random(30)
    for _ in range(pytestconfig.getoption("--kills")):
        time.sleep(chance.uniform(0, 1))
        service.kill(chance.randrange(3))
    service.stop()
    service.check()
    assert service.statuses[200] > pytestconfig.getoption("--kills")


def test_postgresql_that_is_restarted_loses_and_doubles_nothing(service: Service) -> None:
    for _ in range(2):
        time.sleep(1)
        restart(service.sites[0])
        answered = service.statuses[200]
        deadline = time.monotonic() + 20
        while service.statuses[200] < answered + 20:
            assert time.monotonic() < deadline, service.statuses
            time.sleep(0.1)
    service.stop()
    service.check()
