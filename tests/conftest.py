"""Fixtures: a whole chatsvc on a free port, with a clock and a model of the tests' own, and a caller with a key."""

import gc
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientResponse, ClientSession
from hypothesis import settings

from chatsvc import config as configuration
from chatsvc import workers
from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.domain.models import Bot
from chatsvc.domain.plans import Tier
from chatsvc.services.accounts import accounts, bots
from chatsvc.services.operations import shared_services
from tests.browsers import tool
from tests.cli.forked import COVERAGE, forks, read_one_root_certificate, started
from tests.fakes import ADMIN, FakeClock, ScriptedEngine, bot_of
from tests.postgres import Postgres, require_programs, store_of_test


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the switch that chooses the store, and the number of kills."""
    parser.addoption("--kills", type=int, default=6, help="how often the test of several processes kills one")
    parser.addoption("--store", choices=["sqlite", "postgres"], default="sqlite", help="the store of the service that is tested")


# The files that take longest, which begin first: else one core waits for them at the end.
LONGEST = (
    *("processes/test_kills.py", "dashboard/test_browser.py", "processes/test_half_open.py", "language/test_acts.py", "answers/"),
    *("processes/", "crash/", "widget/", "cli/", "dashboard/", "store/test_master_key.py", "platforms/", "engines/"),
)

# Files whose tests run many times what others run too: measuring their coverage would take half as long again.
UNMEASURED = (
    *("api/test_fuzz.py", "api/test_histories.py", "crash/", "dashboard/test_attacks.py", "dashboard/test_browser.py", "faults/"),
    *("dashboard/test_permissions.py", "engines/test_anthropic_injections.py", "engines/test_pattern_time.py", "widget/"),
    *("processes/test_half_open.py", "services/test_permissions.py"),
)


def _place(item: pytest.Item) -> int:
    file = item.nodeid.removeprefix("tests/")
    return next((number for number, long in enumerate(LONGEST) if file.startswith(long)), len(LONGEST))


def pytest_sessionstart() -> None:
    """Collect no reference cycles while the tests are found, whose objects stay; read root certificates quickly."""
    gc.disable()
    read_one_root_certificate()


def pytest_collection_finish() -> None:
    """Leave the tests themselves out of all collections of reference cycles."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the longest files first; leave out the tests of SQLite's own files where the store is PostgreSQL."""
    items.sort(key=_place)
    for item in items:
        path = item.nodeid.removeprefix("tests/")
        if path.startswith(UNMEASURED):
            item.add_marker(pytest.mark.no_cover)
        if path.startswith(("dashboard/", "widget/")) and isinstance(item, pytest.Function) and iscoroutinefunction(item.function):
            # In one event loop, that of the browser.
            item.add_marker(pytest.mark.asyncio(loop_scope="package"), append=False)
    if config.getoption("--store") == "postgres":
        left_out = pytest.mark.skip(reason="a test of SQLite's files")
        for item in items:
            if item.get_closest_marker("sqlite"):
                item.add_marker(left_out)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the tests that are marked `postgres` on both stores."""
    if "tmp_path" not in metafunc.fixturenames:
        return  # it has no store
    marked = {name for name in ("postgres", "sqlite") if metafunc.definition.get_closest_marker(name)}
    if marked == {"postgres"} and metafunc.config.getoption("--store") == "sqlite":
        metafunc.parametrize("store", ["sqlite", "postgres"], indirect=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The PostgreSQL server that holds the stores of tests."""
    require_programs()
    with Postgres() as server:
        yield server


@pytest.fixture(scope="session")
def axe() -> str:
    """The script of axe-core, which finds what keeps people from using a page."""
    return tool("axe-core", "axe.min.js").read_text("utf-8")


@pytest.fixture(autouse=True)
def store(request: pytest.FixtureRequest) -> Iterator[str]:
    """The store of the test: SQLite, or PostgreSQL."""
    kind: str = getattr(request, "param", request.config.getoption("--store"))
    if kind == "sqlite":
        yield kind
        return
    server: Postgres = request.getfixturevalue("postgres")
    with server.in_use():
        yield kind


@pytest.fixture(scope="session", autouse=True)
def _single_looks() -> Iterator[None]:
    """Have the workers of services in this process look only at their start: on a slow machine, a later look falls into any test."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("SWEEP_EVERY_S", "MASK_EVERY_S", "RETURN_EVERY_S", "SITES_EVERY_S", "OUTBOX_EVERY_S", "MAILS_EVERY_S"):
            patch.setattr(workers, name, 3600.0)
        patch.setattr(shared_services, "LOOK_EVERY_S", 3600.0)
        yield


# How long an example takes says more about the machine than about the code.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

MODELS = {
    "scripted": Tier("scripted", "anthropic", "model-1", 100_000, 500_000, 125_000, 10_000),
    "offline": Tier("offline", "knowledge"),
}


@pytest.fixture(scope="session", autouse=True)
def _end_commands() -> Iterator[None]:
    """End the process that forks commands before coverage is reported: it has what they have run."""
    yield
    if started.cache_info().currsize:
        forks().close()


@pytest.fixture
def unmeasured_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure no coverage in processes of a test, which doubles their time. For tests whose processes run what others run too."""
    forks()  # it is shared with tests that are measured
    monkeypatch.delenv(COVERAGE, raising=False)


@dataclass
class Answer:
    """A response, read whole."""

    status: int
    headers: Any
    body: bytes
    json: Any

    @property
    def error(self) -> str | None:
        """The error's code."""
        code: str | None = self.json.get("error")
        return code


class Caller:
    """A customer's server: one key, one bot."""

    def __init__(self, app: App, session: ClientSession, account: str, bot: str, key: str) -> None:
        self.app, self.session, self.account, self.bot, self.key = app, session, account, bot, key
        self.base_url = f"{app.url}/api/v2"

    async def request(self, method: str, path: str, **options: Any) -> Answer:
        """Send one request with the key, unless `headers` has an Authorization of its own."""
        headers = {"Authorization": f"Bearer {self.key}", **options.pop("headers", {})}
        async with self.session.request(method, self.base_url + path, headers=headers, **options) as response:
            return await _read(response)

    async def get(self, path: str, **options: Any) -> Answer:
        """GET one path below base_url."""
        return await self.request("GET", path, **options)

    async def chatbot(self) -> Bot:
        """Look up the bot, for use-cases."""
        return await bot_of(self.app.services, self.bot)

    async def reserved(self) -> dict[str, int]:
        """Count the messages of each month that are being answered."""
        state = await self.app.services.account_cache.account(self.account)
        assert state is not None
        return state.allowance.reserved

    async def send(
        self, message: str = "hello", user_id: str | None = None, *, headers: dict[str, str] | None = None, **more: Any
    ) -> Answer:
        """POST /messages to the bot."""
        body: dict[str, Any] = {"chatbot_id": self.bot, "message": message, **more}
        if user_id is not None:
            body["user_id"] = user_id
        return await self.request("POST", "/messages", json=body, headers=headers or {})


async def _read(response: ClientResponse) -> Answer:
    body = await response.read()
    return Answer(response.status, response.headers, body, await response.json() if body else None)


@pytest.fixture
def clock() -> FakeClock:
    """A clock that stands still."""
    return FakeClock()


@pytest.fixture
def engine() -> ScriptedEngine:
    """The model behind the tier `scripted`."""
    return ScriptedEngine()


def config_in(folder: Path, *, dashboard: bool = False) -> Config:
    """Make the default configuration with a free port, its own data folder and high limits."""
    defaults = configuration.load(None, {})
    return replace(
        defaults,
        server=replace(defaults.server, port=0, dashboard=dashboard),
        data_dir=folder / "data",
        backup=replace(defaults.backup, folder=folder / "backups"),
        limits=replace(defaults.limits, requests_per_minute=100_000),
        models=MODELS,
    )


@pytest.fixture
def config(request: pytest.FixtureRequest, tmp_path: Path) -> Config:
    """A configuration of the test's own, with the dashboard only where the test is marked so."""
    return config_in(tmp_path, dashboard=request.node.get_closest_marker("dashboard") is not None)


@pytest.fixture
async def app(config: Config, clock: FakeClock, engine: ScriptedEngine) -> AsyncIterator[App]:
    """A running chatsvc."""
    async with App(config, clock, store=store_of_test()) as running:
        running.services.engines["anthropic"] = engine
        yield running


@pytest.fixture
async def session() -> AsyncIterator[ClientSession]:
    """A plain HTTP client."""
    async with ClientSession() as opened:
        yield opened


async def new_caller(app: App, session: ClientSession, plan: str = "enterprise", model: str = "scripted", **changes: Any) -> Caller:
    """Make a customer: an account on a plan, with a bot and a key."""
    account = (await accounts.create(app.services, ADMIN, name="Acme", plan=plan)).account.id
    if changes:
        await accounts.change(app.services, ADMIN, account=account, **changes)
    bot = (await bots.create(app.services, ADMIN, name="Desk", account=account, model=model)).id if plan != "none" else ""
    key = (await accounts.create_key(app.services, ADMIN, account=account)).secret
    return Caller(app, session, account, bot, key)


MakeCaller = Callable[..., Any]


@pytest.fixture
def make_caller(app: App, session: ClientSession) -> MakeCaller:
    """Makes customers; see `new_caller`."""
    return partial(new_caller, app, session)


@pytest.fixture
async def caller(make_caller: MakeCaller) -> Caller:
    """One customer on the enterprise plan."""
    caller: Caller = await make_caller()
    return caller
