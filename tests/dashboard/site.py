"""A service with two accounts, their records, and people in every role."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import date, time
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, CookieJar

from chatsvc import config as configuration
from chatsvc.app import App
from chatsvc.domain.actors import ANONYMOUS
from chatsvc.domain.captures import Captured
from chatsvc.engines import Reply
from chatsvc.services.accounts import accounts, bots, webhooks
from chatsvc.services.administration import perform
from chatsvc.services.conversations import conversations
from chatsvc.services.knowledge import knowledge
from chatsvc.services.knowledge.file_reading import read_files
from chatsvc.services.team import operators
from chatsvc.store import exchanges
from tests.conftest import MODELS
from tests.dashboard.client import Client
from tests.fakes import ADMIN, FakeClock, ScriptedEngine, bot_of
from tests.store.inspection import execute
from tests.store.support import new_exchange

PASSWORD = "violet staple harbour"
ROLES = ("administrator", "owner", "editor", "reader")
KNOWLEDGE = "## Are you open on Saturday?\n\nYes, from 10 to 14.\n\n## Do you rent bicycles?\n\nYes, for 15 euros a day.\n"


@dataclass
class Business:
    """One account with a bot and records of each kind; ids by kind."""

    account: str
    bot: str
    key: str
    key_id: str
    ids: dict[str, str] = field(default_factory=dict)


@dataclass
class Site:
    """The running service. `mine` is the account in which the people have their roles, `other` that of strangers."""

    app: App
    clock: FakeClock
    engine: ScriptedEngine
    mine: Business
    other: Business
    tokens: Mapping[str, str]
    stack: AsyncExitStack

    def email(self, role: str) -> str:
        """The e-mail address of the person in a role."""
        return f"{role}@example.com"

    def path_of(self, link: str) -> str:
        """The path of a set-up link."""
        return link.removeprefix(self.app.config.server.public_url)

    async def join(self, email: str, language: str = "en", **arguments: Any) -> Client:
        """Add a person, by default an editor, who chooses a password by the link. Returns that browser."""
        scope = arguments or {"account": self.mine.account, "role": "editor"}
        added = await self.do("operator.add", email=email, **scope)
        client = await self.client(language=language)
        page = await client.post(self.path_of(added.link), {"name": "Nil Kaya", "password": PASSWORD}, follow=False)
        assert (page.status, page.headers["Location"]) == (303, "/")
        return client

    async def client(self, role: str | None = None, language: str = "en") -> Client:
        """Return a new browser, signed in with `role` where one is given."""
        jar = CookieJar(unsafe=True)
        session = await self.stack.enter_async_context(ClientSession(cookie_jar=jar, headers={"Accept-Language": language}))
        client = Client(self.app, session)
        if role is not None:
            fields = {"email": self.email(role), "password": PASSWORD, "next": "/"}
            answer = await client.post("/login", fields, follow=False)
            assert answer.status == 303, answer.body
            assert len(jar) == 1
            if role == "administrator":
                await client.get(f"/?account={self.mine.account}")
        return client

    async def do(self, operation: str, **arguments: Any) -> Any:
        """Perform an operation as the command line does."""
        return await perform(self.app.services, ADMIN, operation, arguments)

    async def write(self, visitor: str = "visitor", text: str = "hello", *, channel: str = "api", later_ms: int = 0, **more: Any) -> str:
        """Store a message to the bot of `mine` with its reply. Returns the conversation's id."""
        bot = self.mine.bot
        exchange = new_exchange(bot, self.mine.account, visitor, channel=channel, at=self.clock.now + later_ms, text=text)
        await exchanges.record(self.app.services.db, exchange._replace(**more))
        conversation = "SELECT id FROM conversations WHERE bot_id = :1 AND channel = :2 AND user_id = :3"
        return str((await execute(self.app, conversation, bot, channel, visitor))[0][0])

    async def found(self, q: str, **filters: Any) -> str:
        """The id of the newest conversation of the bot of `mine` that a search finds."""
        return str((await self.do("conversation.list", bot=self.mine.bot, q=q, **filters)).items[0].id)

    async def say(self, business: Business, message: str, visitor: str = "visitor-1", captured: Captured | None = None) -> None:
        """Send a visitor's message over the interface."""
        self.engine.script = lambda turn: Reply(f"About: {turn.message}", captured=captured)
        body = {"chatbot_id": business.bot, "message": message, "user_id": visitor}
        async with (
            ClientSession(headers={"Authorization": f"Bearer {business.key}"}) as session,
            session.post(f"{self.app.url}/api/v2/messages", json=body) as answer,
        ):
            assert answer.status == 200, await answer.text()


async def furnish(app: App, name: str) -> Business:
    """Make an account with a bot, a key, knowledge and a webhook without an address."""
    services = app.services
    account = (await accounts.create(services, ADMIN, name=name, plan="enterprise")).account.id
    bot = (await bots.create(services, ADMIN, name=f"{name} bot", account=account, model="scripted")).id
    key = await accounts.create_key(services, ADMIN, account=account, name="site key")
    await webhooks.put(services, ADMIN, bot=await bot_of(services, bot), events=["request.created", "appointment.created"])
    await knowledge.add(services, ADMIN, bot=await bot_of(services, bot), files=read_files([("faq.md", KNOWLEDGE.encode())], "en"))
    return Business(account, bot, key.secret, key.key.id)


async def talk(site: Site, business: Business) -> None:
    """Let two visitors leave a request and an appointment."""
    request = Captured("support", "The chain is broken", "Deniz Yılmaz", "deniz@example.com", None)
    wish = Captured("appointment", "A service", "Selin Kaya", None, "05321234567", date(2026, 11, 27), time(14, 30))
    await site.say(business, "Are you open on Saturday?", "visitor-1")
    await site.say(business, "My chain is broken", "visitor-1", request)
    await site.say(business, "Friday at 14:30 for a service", "visitor-2", wish)
    services = site.app.services
    listed = (await conversations.list_all(services, ADMIN, bot=await bot_of(services, business.bot))).items
    (entry, *_) = await knowledge.list_all(services, ADMIN, bot=await bot_of(services, business.bot))
    requests = (await site.do("request.list", bot=business.bot)).items
    appointments = (await site.do("appointment.list", bot=business.bot)).items
    business.ids = {
        "account": business.account,
        "bot": business.bot,
        "key": business.key_id,
        "conversation": listed[0].id,
        "entry": entry.id,
        "request": requests[-1].request.id,
        "appointment": appointments[0].appointment.id,
    }


async def hire(app: App, business: Business) -> dict[str, str]:
    """Add a person in every role, each with a password; their session tokens."""
    services, tokens = app.services, {}
    for role in ROLES:
        scope: dict[str, Any] = {"admin": True} if role == "administrator" else {"account": business.account, "role": role}
        invitation = await operators.add(services, ADMIN, email=f"{role}@example.com", name=role.capitalize(), **scope)
        arguments = {"token": (invitation.link or "").rpartition("/")[2], "password": PASSWORD}
        tokens[role] = (await perform(services, ANONYMOUS, "password.set", arguments)).token
    return tokens


async def open_site(folder: Path, stack: AsyncExitStack, **server: Any) -> Site:
    """Start a service and fill it."""
    defaults = configuration.load(None, {})
    config = replace(
        defaults,
        server=replace(defaults.server, port=0, **server),
        data_dir=folder / "data",
        backup=replace(defaults.backup, folder=folder / "backups"),
        limits=replace(defaults.limits, requests_per_minute=100_000),
        models=MODELS,
    )
    clock, engine = FakeClock(), ScriptedEngine()
    app = await stack.enter_async_context(App(config, clock))
    app.services.engines["anthropic"] = engine
    mine, other = await furnish(app, "Harbour Cycles"), await furnish(app, "Strangers Ltd")
    site = Site(app, clock, engine, mine, other, await hire(app, mine), stack)
    for business in (mine, other):
        await talk(site, business)
    return site
