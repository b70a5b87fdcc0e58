"""Metrics for Prometheus. Each counter follows its events, and no label names a visitor, key or path."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import ClientSession
from prometheus_client.parser import text_string_to_metric_families

from chatsvc.api.interface import SUPPORTED_ENDPOINTS
from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.config.model import Metrics
from chatsvc.domain.errors import CommandError
from chatsvc.domain.models import Usage
from chatsvc.domain.tallies import Histogram
from chatsvc.engines import Reply
from chatsvc.metrics import _sum
from chatsvc.services.accounts import webhooks
from tests.api.support import out_of_reach, until
from tests.conftest import Caller, MakeCaller
from tests.fakes import ADMIN, ScriptedEngine, failing
from tests.store.inspection import execute

Labels = dict[str, str]
TOPIC = Path(__file__).parents[2] / "chatsvc" / "help" / "metrics.md"


@pytest.fixture
def config(config: Config) -> Config:
    return replace(config, metrics=Metrics(("127.0.0.1", 0)))


class Scrape:
    """The result of one scrape of /metrics."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.families = list(text_string_to_metric_families(text))
        self.samples = [sample for family in self.families for sample in family.samples]

    def value(self, name: str, **labels: str) -> float:
        """The one sample with these labels; 0 where there is none."""
        values = [sample.value for sample in self.samples if sample.name == name and labels.items() <= sample.labels.items()]
        assert len(values) <= 1, values
        return float(values[0]) if values else 0.0


async def scrape(app: App, session: ClientSession) -> Scrape:
    async with session.get(f"http://127.0.0.1:{app.metrics_port}/metrics") as response:
        assert response.status == 200
        assert response.headers["Content-Type"].startswith("text/plain; version=")
        assert response.headers["Server"] == "chatsvc"
        return Scrape(await response.text())


@pytest.mark.dashboard
async def test_requests_are_counted_by_operation_status_and_error(app: App, session: ClientSession, caller: Caller) -> None:
    await caller.get("/chatbots")
    await caller.get(f"/chatbots/{caller.bot}")
    await caller.get("/chatbots/none-such")
    await caller.get("/nowhere?visitor=selin")
    await caller.request("PUT", "/chatbots")
    await caller.get("/chatbots", headers={"Authorization": "Bearer nonsense"})
    async with session.get(f"{app.url}/healthz"):
        pass
    async with session.get(f"{app.url}/elsewhere/selin"):
        pass
    page = await scrape(app, session)
    counted = {
        (sample.labels["route"], sample.labels["status"], sample.labels["error"]): sample.value
        for sample in page.samples
        if sample.name == "chatsvc_requests_total"
    }
    assert counted == {
        ("GET /chatbots", "200", ""): 1,
        ("GET /chatbots/{id}", "200", ""): 1,
        ("GET /chatbots/{id}", "404", "chatbot_not_found"): 1,
        ("other", "404", "unknown_endpoint"): 1,
        ("other", "404", "page_404"): 1,
        ("other", "405", "method_not_allowed"): 1,
        ("GET /chatbots", "401", "invalid_api_key"): 1,
        ("GET /healthz", "200", ""): 1,
    }
    assert page.value("chatsvc_request_seconds_count", route="GET /chatbots") == 2
    assert page.value("chatsvc_request_seconds_bucket", route="GET /chatbots", le="+Inf") == 2
    assert 0 < page.value("chatsvc_request_seconds_sum", route="GET /chatbots") < 10


async def test_what_limiter_and_allowance_refuse_is_counted(app: App, session: ClientSession, make_caller: MakeCaller) -> None:
    caller = await make_caller(messages_limit=0)
    await caller.send()
    app._limiter.limit = 1
    await caller.send()
    page = await scrape(app, session)
    for status, error in (("402", "message_quota_exceeded"), ("429", "rate_limit_exceeded")):
        assert page.value("chatsvc_requests_total", route="POST /messages", status=status, error=error) == 1


async def test_replies_tokens_and_cost_are_counted_by_tier(
    app: App, session: ClientSession, caller: Caller, engine: ScriptedEngine
) -> None:
    engine.script = lambda _: Reply("yes", Usage(1_000_000, 200_000, 0, 50_000))
    await caller.send()
    engine.script = failing("overloaded")
    await caller.send()
    page = await scrape(app, session)
    assert page.value("chatsvc_reply_seconds_count", tier="scripted", outcome="ok") == 1
    assert page.value("chatsvc_reply_seconds_count", tier="scripted", outcome="overloaded") == 1
    assert page.value("chatsvc_tokens_total", tier="scripted", plan="enterprise", kind="input") == 1_000_000
    assert page.value("chatsvc_tokens_total", tier="scripted", plan="enterprise", kind="output") == 200_000
    assert page.value("chatsvc_tokens_total", tier="scripted", plan="enterprise", kind="cache_read") == 50_000
    assert page.value("chatsvc_cost_usd_total", tier="scripted", plan="enterprise") == pytest.approx(0.1 + 0.1 + 0.0005)


async def test_what_is_under_way_is_seen_while_it_is(app: App, session: ClientSession, caller: Caller, engine: ScriptedEngine) -> None:
    engine.gate = asyncio.Event()
    sent = [asyncio.create_task(caller.send(user_id="v")) for _ in range(3)]
    await until(lambda: app.services.tallies.in_flight == 3 and len(engine.turns) == 1)
    page = await scrape(app, session)
    names = ("chatsvc_requests_in_flight", "chatsvc_messages_under_way", "chatsvc_messages_waiting")
    assert [page.value(name) for name in names] == [3, 3, 2]
    engine.gate.set()
    await asyncio.gather(*sent)
    page = await scrape(app, session)
    assert [page.value(name) for name in names] == [0, 0, 0]


@pytest.fixture
def no_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """No background loops: the index of conversations, retention and others write at times of their own."""
    monkeypatch.setattr("chatsvc.workers.start", lambda *_: None)


@pytest.mark.usefixtures("no_loops")
async def test_transactions_are_counted_with_their_size_and_the_faults_of_the_store(
    app: App, session: ClientSession, caller: Caller, store: str
) -> None:
    before = await scrape(app, session)
    await caller.send()
    after = await scrape(app, session)

    def grown(name: str) -> float:
        return after.value(name, kind="write") - before.value(name, kind="write")

    # Of several processes each opens a turn before it answers, and shows every second that it lives.
    transactions = grown("chatsvc_store_batch_size_count")
    assert transactions == 1 if store == "sqlite" else 2 <= transactions <= 10
    assert grown("chatsvc_store_batch_seconds_count") == grown("chatsvc_store_batch_size_sum") == transactions
    assert after.value("chatsvc_store_batch_size_bucket", kind="write", le="1") >= 1
    async with out_of_reach(app, "messages"):
        assert (await caller.send(user_id="v")).status == 503
    page = await scrape(app, session)
    assert page.value("chatsvc_store_faults_total", kind="read") + page.value("chatsvc_store_faults_total", kind="write") == 1


async def test_webhooks_are_counted_by_outcome_and_what_is_pending_is_seen(app: App, session: ClientSession, caller: Caller) -> None:
    app.services.egress.allowed = False
    app.services.webhooks.is_running = False  # a first look that is late would send the pending event
    await webhooks.put(app.services, ADMIN, bot=await caller.chatbot(), events=["request.created"], url="https://hooks.example.com/in")
    await webhooks.test(app.services, ADMIN, bot=await caller.chatbot())
    await execute(
        app, "INSERT INTO webhook_events (bot_id, event, record_id, data, created_at, state) VALUES (:1, 'x', 'y', '{}', 0, 0)", caller.bot
    )
    page = await scrape(app, session)
    assert page.value("chatsvc_webhook_attempts_total", outcome="egress_refused") == 1
    assert page.value("chatsvc_webhook_events_pending") == 1
    assert page.value("chatsvc_webhook_attempts_under_way") == 0
    assert page.value("chatsvc_egress_connections_total", purpose="webhook", outcome="refused") == 1
    assert page.value("chatsvc_egress_connections_total", purpose="model", outcome="opened") == 0


async def test_the_rest_is_shown_where_the_store_cannot_answer(app: App, session: ClientSession, store: str) -> None:
    async with out_of_reach(app, "webhook_events"):
        page = await scrape(app, session)
    assert "chatsvc_webhook_events_pending" not in page.text
    faults = page.value("chatsvc_store_faults_total", kind="read")
    # One of several processes also looks for webhooks that others have left.
    assert faults == 1 if store == "sqlite" else 1 <= faults <= 10


async def test_no_label_tells_of_a_visitor_a_key_an_account_or_a_path(
    app: App, session: ClientSession, caller: Caller, engine: ScriptedEngine
) -> None:
    await caller.send("my name is Selin", user_id="selin-7")
    await caller.get(f"/{caller.key}/selin-7")
    await caller.get("/conversations?limit=selin-7")
    text = (await scrape(app, session)).text
    for word in (caller.key, caller.account, caller.bot, "selin", "Selin", "?"):
        assert word not in text
    routes = {sample.labels["route"] for sample in Scrape(text).samples if "route" in sample.labels}
    assert routes <= set(SUPPORTED_ENDPOINTS) | {"other"}


async def test_the_manual_names_every_metric_with_its_labels(
    app: App, session: ClientSession, caller: Caller, engine: ScriptedEngine
) -> None:
    engine.script = lambda _: Reply("yes", Usage(1, 1))
    await caller.send()
    page = await scrape(app, session)
    shown: dict[str, set[str]] = {}
    for sample in page.samples:
        if sample.name.startswith("chatsvc_"):
            name = re.sub("_(bucket|count|sum)$", "", sample.name)
            shown.setdefault(name, set()).update(sample.labels.keys() - {"le"})
    listed: dict[str, set[str]] = {}
    for row in re.findall(r"^\| (`chatsvc_\w+`.*?) \| (.*?) ?\|", TOPIC.read_text("utf-8"), re.MULTILINE):
        listed |= {name: set(re.findall(r"`(\w+)`", row[1])) for name in re.findall(r"`(\w+)`", row[0])}
    assert listed == shown
    assert {"process_resident_memory_bytes", "process_open_fds", "process_cpu_seconds_total", "python_info"} <= {
        s.name for s in page.samples
    }


async def test_the_listener_has_metrics_and_nothing_else_and_the_interface_has_none(app: App, session: ClientSession) -> None:
    listener = f"http://127.0.0.1:{app.metrics_port}"
    for method, url, status in (
        ("GET", f"{listener}/", 404),
        ("GET", f"{listener}/metrics/x", 404),
        ("POST", f"{listener}/metrics", 405),
        ("HEAD", f"{listener}/metrics", 200),
        ("GET", f"{app.url}/metrics", 404),
    ):
        async with session.request(method, url) as response:
            assert response.status == status, url


async def test_a_port_that_is_taken_is_refused(app: App, config: Config, tmp_path: Path) -> None:
    other = replace(config, data_dir=tmp_path / "other", metrics=Metrics(("127.0.0.1", app.metrics_port)))
    with pytest.raises(CommandError, match=rf"cannot listen on 127\.0\.0\.1:{app.metrics_port} for metrics: "):
        await App(other).__aenter__()


async def test_webhooks_do_not_reach_the_listener(app: App) -> None:
    config = replace(app.config, metrics=Metrics(("127.0.0.1", 9464)))
    webhooks = replace(app.services, config=config).webhooks
    assert any(port == 9464 for _, port in webhooks.sender._guard.own.listeners)
    await webhooks.close()


def test_the_library_is_loaded_only_where_the_setting_asks_for_it() -> None:
    imports = re.compile(r"^(from|import) chatsvc\.metrics", re.MULTILINE)
    assert [path for path in TOPIC.parents[1].rglob("*.py") if imports.search(path.read_text("utf-8"))] == []


def test_a_histogram_counts_a_value_in_the_first_bound_that_it_does_not_pass() -> None:
    histogram = Histogram((1, 2, 4))
    for value in (0.5, 1, 1.5, 4, 5):
        histogram.note(value)
    assert (histogram.counts, histogram.total) == ([2, 1, 1, 1], 12.0)
    both = _sum([histogram, histogram])
    assert (both.counts, both.total, histogram.total) == ([4, 2, 2, 2], 24.0, 12.0)
