"""The web channel over HTTP: who may open the widget, and what its frame may ask for."""

import asyncio
import gzip
import json
import re
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from aiohttp import ClientResponse, ClientSession

from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.domain.models import Entry
from chatsvc.engines import Evidence, Reply
from chatsvc.services.administration import perform
from chatsvc.services.messages import web_visits
from chatsvc.store import knowledge
from tests.api.support import until
from tests.conftest import Caller
from tests.fakes import ADMIN, FakeClock, ScriptedEngine
from tests.platforms.conftest import begun
from tests.store import support

SHOP = "https://shop.example.com"
FRAMED = {"Referer": f"{SHOP}/", "Sec-Fetch-Dest": "iframe"}


class Frame:
    """The frame of a widget, as its script uses the service."""

    def __init__(self, app: App, session: ClientSession, bot: str) -> None:
        self.app, self.session, self.bot, self.token, self.keys = app, session, bot, "", 0
        self.data: dict[str, Any] = {}

    async def open(self, path: str = "widget", **headers: str) -> ClientResponse:
        """Open the frame's page, or with "chat" the page of its own."""
        response = await self.session.get(f"{self.app.url}/{path}/{self.bot}", headers={**FRAMED, **headers})
        match = re.search(r'id="data">(.*?)</script>', await response.text(), re.DOTALL)
        self.data = json.loads(match[1]) if match else {}
        return response

    def headers(self, **more: str) -> dict[str, str]:
        own = {"Origin": self.app.url, "Sec-Fetch-Site": "same-origin", "Chatsvc-Site": self.data.get("site", "")}
        return {**own, **({"Authorization": f"Visitor {self.token}"} if self.token else {}), **more}

    async def send(self, text: Any = "hello", *, key: str | None = None, after: Any = "", **headers: str) -> tuple[int, Any]:
        """Send a message; status and answer. The token is kept."""
        self.keys += 1
        more = {"Idempotency-Key": key or f"a-key-of-this-test-{self.keys}", **headers}
        url = f"{self.app.url}/widget/{self.bot}/messages"
        async with self.session.post(url, json={"text": text, "after": after}, headers=self.headers(**more)) as response:
            body = await response.json()
            self.token = body.get("token") or self.token
            return response.status, body

    async def read(self, query: str = "after=", **headers: str) -> tuple[int, Any]:
        url = f"{self.app.url}/widget/{self.bot}/messages?{query}"
        async with self.session.get(url, headers=self.headers(**headers)) as response:
            return response.status, await response.json()

    async def rate(self, message: Any, value: Any) -> int:
        url = f"{self.app.url}/widget/{self.bot}/feedback"
        async with self.session.post(url, json={"message": message, "value": value}, headers=self.headers()) as response:
            return response.status


async def widget(caller: Caller, **settings: Any) -> Frame:
    """A bot's widget for the shop, its frame opened."""
    given = {"sites": [SHOP], **settings}
    await perform(caller.app.services, ADMIN, "channel.set", {"bot": caller.bot, "channel": "web", **given})
    frame = Frame(caller.app, caller.session, caller.bot)
    await frame.open()
    return frame


@pytest.fixture
async def frame(caller: Caller) -> Frame:
    return await widget(caller)


async def held(frame: Frame, last: str, more: str = "") -> asyncio.Task[tuple[int, Any]]:
    """Begin a read behind a message, and wait until it is held."""
    read = asyncio.create_task(frame.read(f"after={last}&wait=1&known=bot-0{more}"))
    async with asyncio.timeout(30):
        while not frame.app.services.events.waiting:  # noqa: ASYNC110  # the read has no other sign
            await asyncio.sleep(0.01)
    return read


def texts(answer: Any) -> list[tuple[str, str]]:
    return [(message["role"], message["text"]) for message in answer["messages"]]


async def test_a_page_that_was_closed_holds_no_read(frame: Frame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_visits, "HOLD_S", 600.0)
    _, answer = await frame.send()
    read = await held(frame, answer["messages"][-1]["id"])
    read.cancel()
    await until(lambda: not frame.app.services.events.waiting)


async def test_the_loader_and_the_frame_are_small_and_ask_for_nothing_else(frame: Frame) -> None:
    loader = await frame.session.get(f"{frame.app.url}/widget.js")
    assert loader.headers["Content-Type"].startswith("text/javascript")
    assert len(gzip.compress(await loader.read(), 9)) <= 2048
    again = await frame.session.get(f"{frame.app.url}/widget.js", headers={"If-None-Match": loader.headers["ETag"]})
    assert again.status == 304
    page = await frame.open()
    body = await page.read()
    files = re.findall(r'(?:src|href)="([^"]+)"', body.decode())
    assert len(files) == 1
    script = await frame.session.get(frame.app.url + files[0])
    assert "immutable" in script.headers["Cache-Control"]
    assert len(gzip.compress(body, 9)) + len(gzip.compress(await script.read(), 9)) <= 25 * 1024
    assert page.headers["Cross-Origin-Embedder-Policy"] == "require-corp"
    for response in (loader, page, script):
        assert response.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
        assert not [name for name in response.headers if name.startswith(("Access-Control", "Set-Cookie"))]


async def look(frame: Frame, query: str = "", **headers: str) -> Any:
    """Return what the second script gives to the launcher."""
    response = await frame.session.get(f"{frame.app.url}/widget/{frame.bot}/look.js?{query}", headers={"Referer": f"{SHOP}/", **headers})
    assert (response.status, response.headers["Cross-Origin-Resource-Policy"]) == (200, "cross-origin")
    return json.loads((await response.text()).removeprefix("chatsvc.show(").removesuffix(")"))


async def test_what_the_owner_sets_goes_before_what_the_line_in_the_page_says(frame: Frame, caller: Caller) -> None:
    asked = "language=de&page=tr-TR&color=%23ffee00&position=left"
    before = await look(frame, asked)
    assert ("left:20px" in before["style"], "background:#ffee00;color:#000" in before["style"]) == (True, True)
    assert (before["open"], before["launcher"], before["theme"]) == ("Sohbeti aç", "", "")
    settings = {"color": "#102030", "position": "right", "launcher": "Questions?", "theme": "dark"}
    await perform(caller.app.services, ADMIN, "channel.set", {"bot": caller.bot, "channel": "web", **settings})
    after = await look(frame, asked)
    assert ("right:20px" in after["style"], "background:#102030;color:#fff" in after["style"], "{{" in after["style"]) == (
        True,
        True,
        False,
    )
    assert (after["launcher"], after["theme"], after["query"]) == ("Questions?", "dark", "language=tr&color=102030")
    page = await frame.open()
    assert 'data-theme="dark"' in await page.text()
    assert frame.data["color"] == "#102030"


@pytest.mark.postgres
async def test_a_site_that_is_refused_shows_nothing_and_is_told_to_the_owner(frame: Frame, caller: Caller, clock: FakeClock) -> None:
    async def told() -> list[str]:
        return [refusal.site for refusal in (await perform(caller.app.services, ADMIN, "today", {"account": caller.account})).refused]

    www = SHOP.replace("://", "://www.")
    assert (await look(frame, Referer=f"{www}/"))["title"] == "Chat"
    assert (await look(frame, Referer="https://www.www.shop.example.com/"), await told()) == (None, ["https://www.www.shop.example.com"])
    # A stranger who names many sites causes one note a minute.
    assert await look(frame, Referer="https://other.example/") is None
    assert await told() == ["https://www.www.shop.example.com"]
    clock.now += 61_000
    assert (await frame.open(Referer="https://other.example/page")).status == 403
    assert await told() == ["https://other.example"]
    (shown,) = await perform(caller.app.services, ADMIN, "channel.list", {"bot": caller.bot})
    assert shown.refused_site == "https://other.example"
    sites = {"bot": caller.bot, "channel": "web", "sites": [SHOP, "https://other.example"]}
    await perform(caller.app.services, ADMIN, "channel.set", sites)
    assert await told() == []
    page = await frame.open(Referer=f"{www}/")
    assert f"frame-ancestors {SHOP} https://other.example {www} https://www.other.example" in page.headers["Content-Security-Policy"]


async def test_only_pages_of_the_sites_may_frame_it(frame: Frame, caller: Caller) -> None:
    page = await frame.open()
    assert page.status == 200
    policy = page.headers["Content-Security-Policy"]
    assert f"frame-ancestors {SHOP}" in policy
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'sha256-")
    for headers, status in (
        ({"Sec-Fetch-Dest": "document"}, 403),
        ({"Referer": "https://evil.example/"}, 403),
        ({"Referer": f"{SHOP}.evil.example/"}, 403),
        ({"Referer": "null"}, 200),
        ({"Referer": f"{SHOP}:8443/"}, 403),
        ({"Referer": f"{SHOP}/a/page?query"}, 200),
    ):
        assert (await frame.open(**headers)).status == status, headers
    response = await frame.session.get(f"{frame.app.url}/widget/{frame.bot}")
    assert response.status == 403
    plain = await frame.session.get(f"{frame.app.url}/widget/{frame.bot}", headers={"Referer": f"{SHOP}/"})
    assert plain.status == 200
    nobody = await widget(caller, sites=[""])
    refused = await nobody.open()
    assert refused.status == 403
    assert "frame-ancestors 'none'" in refused.headers["Content-Security-Policy"]
    assert (await frame.open("chat")).status == 403


async def test_any_link_opens_the_page_of_its_own_alone(caller: Caller) -> None:
    linked = await widget(caller, sites=["any-link"])
    assert (await linked.open()).status == 403
    page = await linked.open("chat")
    assert page.status == 200
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    status, answer = await linked.send("hello")
    assert (status, texts(answer)) == (200, [("user", "hello"), ("assistant", "echo: hello")])
    (conversation,) = (await perform(caller.app.services, ADMIN, "conversation.list", {"bot": caller.bot})).items
    assert (conversation.channel, conversation.source_page_host) == ("web", "")


async def test_a_page_speaks_the_language_asked_for_and_escapes_what_the_owner_wrote(caller: Caller) -> None:
    settings = {"title": '</script><b>"Ağaç" & Co', "privacy_url": "https://example.com/privacy?a=1&b=2", "color": "#ffee00"}
    frame = await widget(caller, **settings)
    response = await frame.session.get(f"{frame.app.url}/widget/{frame.bot}?language=tr&color=00ff00", headers=FRAMED)
    page = await response.text()
    assert '<html lang="tr" ' in page
    assert "&lt;/script&gt;&lt;b&gt;&#34;Ağaç&#34; &amp; Co" in page
    assert 'href="https://example.com/privacy?a=1&amp;b=2"' in page
    assert "bir bilgisayar programı" in page
    wording = {"greeting": "</script><script>alert(1)</script>", "suggestions": ["Where can I park?", "{{data}}"]}
    await perform(caller.app.services, ADMIN, "bot.set", {"bot": caller.bot, **wording})
    await frame.open(**{"Accept-Language": "de, en-GB;q=0.8"})
    assert (frame.data["greeting"], frame.data["suggestions"]) == ([wording["greeting"]], wording["suggestions"])
    assert (frame.data["texts"]["send"], frame.data["color"]) == ("Send", "#ffee00")


@pytest.mark.postgres
async def test_a_conversation_goes_on_by_its_token_and_tells_what_is_new(frame: Frame, caller: Caller, engine: ScriptedEngine) -> None:
    status, first = await frame.send("hello")
    assert (status, first["handling"], texts(first)) == (200, "bot", [("user", "hello"), ("assistant", "echo: hello")])
    assert set(first["messages"][0]) == {"id", "role", "text", "created_at"}
    last = first["messages"][-1]["id"]
    _, second = await frame.send("again", after=last)
    assert texts(second) == [("user", "again"), ("assistant", "echo: again")]
    assert len(engine.turns[-1].history) == 2
    assert texts((await frame.read(f"after={last}"))[1]) == [("user", "again"), ("assistant", "echo: again")]
    (conversation,) = (await perform(caller.app.services, ADMIN, "conversation.list", {"bot": caller.bot})).items
    assert (conversation.channel, conversation.source_page_host, conversation.message_count) == ("web", "shop.example.com", 4)


async def test_an_answer_from_a_website_has_its_page(frame: Frame, caller: Caller, engine: ScriptedEngine) -> None:
    entries = [Entry(str(uuid4()), "Open?", (), "From 9.", "en", source) for source in ("https://a.example/hours", "faq.md")]
    for entry in entries:
        await knowledge.create(caller.app.services.db, caller.bot, entry, support.origin())
    for nth, decision, page in ((0, "answer", entries[0].source), (0, "ask", None), (1, "answer", None)):
        evidence = Evidence(((entries[nth].id, 0.9),), decision, 0.9)
        engine.script = lambda _, evidence=evidence: Reply("From 9.", evidence=evidence)  # type: ignore[misc]
        _, answer = await frame.send("open?")
        assert answer["messages"][-1].get("source") == page


@pytest.mark.postgres
async def test_a_retry_of_the_first_message_is_the_same_visitor(frame: Frame, caller: Caller, engine: ScriptedEngine) -> None:
    key = "the-key-of-the-first-message"
    _, first = await frame.send("hello", key=key)
    frame.token = ""
    _, again = await frame.send("hello", key=key)
    assert (again["token"], texts(again)) == (first["token"], texts(first))
    # Before the answer comes, further messages and a reload name the key of the first.
    frame.token = ""
    _, other = await frame.send("quick", Authorization=f"First {key}")
    assert other["token"] == first["token"]
    assert (await frame.read(Authorization=f"First {key}"))[1]["token"] == first["token"]
    assert len(engine.turns) == 2
    nobody = (await frame.read(Authorization="First another-key-of-nobody"))[1]
    assert (nobody["token"], nobody["messages"]) == (None, [])


@pytest.mark.postgres
async def test_two_quick_first_messages_are_one_conversation(frame: Frame, caller: Caller) -> None:
    key = "the-key-of-the-first-message"
    await asyncio.gather(frame.send("one", key=key), frame.send("two", Authorization=f"First {key}"))
    (conversation,) = (await perform(caller.app.services, ADMIN, "conversation.list", {"bot": caller.bot})).items
    assert conversation.message_count == 4


async def test_a_call_of_another_page_or_with_a_wrong_token_is_refused(frame: Frame) -> None:
    cases: list[tuple[dict[str, str], int]] = [
        ({"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
        ({"Chatsvc-Site": "wrong"}, 403),
        ({"Authorization": "Visitor wrong"}, 401),
        ({"Authorization": "Visitor é.é"}, 401),
        ({"Idempotency-Key": "short"}, 400),
    ]
    assert [(await frame.send("hello", **headers))[0] for headers, _ in cases] == [status for _, status in cases]
    assert (await frame.send("hello"))[0] == 200


async def test_over_plain_http_the_origin_decides(frame: Frame) -> None:
    url = f"{frame.app.url}/widget/{frame.bot}/messages"
    await frame.send("hello")
    own = {"Chatsvc-Site": frame.data["site"], "Authorization": f"Visitor {frame.token}"}
    assert (await frame.session.get(f"{url}?after=", headers=own)).status == 200
    assert (await frame.session.get(f"{url}?after=", headers={**own, "Origin": "https://evil.example"})).status == 403
    posted = {**own, "Idempotency-Key": "a-key-that-is-long-enough"}
    for origin, status in ((None, 403), ("https://evil.example", 403), (frame.app.url, 200)):
        headers = posted if origin is None else {**posted, "Origin": origin}
        assert (await frame.session.post(url, json={"text": "x", "after": ""}, headers=headers)).status == status


async def test_bodies_queries_paths_and_methods_that_cannot_be_are_refused(frame: Frame) -> None:
    for text in ("", " \n", None, 5, "a\0b", "\ud800", "x" * 4001, "x" * 40_000):
        assert (await frame.send(text))[0] == (413 if isinstance(text, str) and len(text) > 4000 else 400), text
    for after in (0, True, "0" * 37, "x"):
        assert (await frame.send("x", after=after))[0] == 400, after
    url = f"{frame.app.url}/widget/{frame.bot}/messages"
    for body in (b"", b"[]", b"no JSON", b"[" * 30_000):
        async with frame.session.post(url, data=body, headers=frame.headers(**{"Idempotency-Key": "a-key-that-is-long"})) as response:
            assert response.status == 400
    assert (await frame.read())[0] == 401
    assert (await frame.send("ğ" * 4000, after="0" * 36))[0] == 200
    assert (await frame.read("after=x"))[0] == 400
    assert (await frame.read("after=&before=x"))[0] == 400
    async with frame.session.put(url, headers=frame.headers()) as response:
        assert (response.status, response.headers["Allow"]) == (405, "GET, HEAD, POST")
    for path in ("widget/no-such-bot", "chat/no-such-bot", "widget/static/nothing.js", "widget", "widget/"):
        assert (await frame.session.get(f"{frame.app.url}/{path}", headers=FRAMED)).status == 404
    async with frame.session.head(f"{frame.app.url}/widget/{frame.bot}", headers=FRAMED) as response:
        assert response.status == 200


async def test_a_site_that_is_taken_away_ends_its_frames(frame: Frame, caller: Caller) -> None:
    await frame.send("hello")
    await perform(caller.app.services, ADMIN, "channel.set", {"bot": caller.bot, "channel": "web", "sites": ["https://other.example"]})
    status, answer = await frame.send("again")
    assert (status, answer["error"]) == (403, "site_refused")
    assert (await frame.read())[0] == 403


async def test_a_paused_widget_says_that_it_is_away(frame: Frame, caller: Caller) -> None:
    await perform(caller.app.services, ADMIN, "channel.pause", {"bot": caller.bot, "channel": "web"})
    await frame.open()
    assert frame.data["away"] is True
    status, answer = await frame.send("Hello, are you there today?")
    assert (status, answer["away"]) == (200, True)
    assert "not available here" in texts(answer)[-1][1]
    await perform(caller.app.services, ADMIN, "channel.remove", {"bot": caller.bot, "channel": "web"})
    assert (await frame.send("again"))[0] == 404


async def test_answers_alone_are_offered_for_rating(frame: Frame, caller: Caller) -> None:
    settings = {"model": "offline", "language": "en", "email": "desk@example.com"}
    await perform(caller.app.services, ADMIN, "bot.set", {"bot": caller.bot, **settings})
    for text, is_answer in (("What is your e-mail address?", True), ("Please call me back", False), ("never mind", False)):
        _, answer = await frame.send(text)
        assert ("answer" in answer["messages"][-1]) is is_answer, text


@pytest.mark.postgres
async def test_a_thumb_is_kept_and_taken_back(frame: Frame, caller: Caller) -> None:
    assert await frame.rate("x", "up") == 401
    _, answer = await frame.send("hello")
    question, reply = answer["messages"]
    for message, value, status in ((reply, "up", 200), (question, "up", 404), (reply, "sideways", 404), (reply, 5, 400)):
        assert await frame.rate(message["id"], value) == status
    assert (await frame.read())[1]["messages"][-1]["feedback"] == "up"
    assert await frame.rate(reply["id"], None) == 200
    assert "feedback" not in (await frame.read())[1]["messages"][-1]


@pytest.mark.postgres
async def test_a_held_read_ends_with_an_operators_message(frame: Frame, caller: Caller) -> None:
    _, answer = await frame.send("hello")
    (conversation,) = (await perform(caller.app.services, ADMIN, "conversation.list", {"bot": caller.bot})).items
    named = {"conversation": conversation.id}
    read = await held(frame, answer["messages"][-1]["id"])
    written = await perform(caller.app.services, ADMIN, "conversation.reply", {**named, "text": "Ada here"})
    status, news = await asyncio.wait_for(read, 20)
    assert (status, news["handling"], texts(news)) == (200, "operator", [("operator", "Ada here")])
    assert news["messages"][0]["author"] == "root"
    thread = await perform(caller.app.services, ADMIN, "conversation.show", named)
    # Nobody knows yet whether the answer arrived: the visitor may have closed the page.
    assert (written.message.delivery, thread.messages[-1].delivery) == ("queued", "queued")
    await frame.read(f"after={answer['messages'][-1]['id']}")
    thread = await perform(caller.app.services, ADMIN, "conversation.show", named)
    assert thread.messages[-1].delivery == "queued"
    await frame.read(f"after={news['messages'][-1]['id']}")
    thread = await perform(caller.app.services, ADMIN, "conversation.show", named)
    assert thread.messages[-1].delivery == "delivered"


async def test_visitors_see_the_first_word_of_an_operators_name(caller: Caller) -> None:
    services = caller.app.services
    account = (await perform(services, ADMIN, "account.create", {"name": "Harbour Cycles", "plan": "enterprise"})).account.id
    bot = (await perform(services, ADMIN, "bot.create", {"name": "Desk", "account": account, "model": "scripted"})).id
    frame = await widget(Caller(caller.app, caller.session, account, bot, ""))
    await frame.send("hello")
    (conversation,) = (await perform(services, ADMIN, "conversation.list", {"bot": bot})).items
    for email, name, shown in (("ada@example.com", "Ada Nur Kaya", "Ada"), ("bob@example.com", None, "Harbour Cycles")):
        fields = {"email": email, "account": account, "role": "editor", **({"name": name} if name else {})}
        await perform(services, ADMIN, "operator.add", fields)
        await perform(services, ADMIN, "conversation.take", {"conversation": conversation.id, "email": email, "yes": True})
        await perform(services, ADMIN, "conversation.reply", {"conversation": conversation.id, "text": "Hi"})
        _, news = await frame.read()
        assert (news["operator"], news["messages"][-1]["author"]) == (shown, shown)


async def test_who_types_is_seen_on_the_other_side(frame: Frame, caller: Caller) -> None:
    _, answer = await frame.send("hello")
    last = answer["messages"][-1]["id"]
    (conversation,) = (await perform(caller.app.services, ADMIN, "conversation.list", {"bot": caller.bot})).items
    read = await held(frame, last, "&typing=1")
    assert caller.app.services.events.typing.has((caller.bot, "web", conversation.user_id), "visitor")
    await perform(caller.app.services, ADMIN, "conversation.type", {"conversation": conversation.id})
    assert (await asyncio.wait_for(read, 20))[1]["typing"] is True
    # A widget that shows another state is answered at once.
    assert (await asyncio.wait_for(frame.read(f"after={last}&wait=1&known=bot-0"), 20))[1]["typing"] is True


async def test_a_held_read_ends_when_the_service_stops(frame: Frame, caller: Caller) -> None:
    _, answer = await frame.send("hello")
    read = await held(frame, answer["messages"][-1]["id"])
    caller.app.services.events.close()
    assert (await asyncio.wait_for(read, 20))[0] == 200
    # What comes on connections that are still open is answered.
    assert (await frame.send("again"))[1]["messages"][-1]["text"] == "echo: again"


async def test_held_reads_of_a_visitor_and_of_an_address_are_bounded(
    frame: Frame, caller: Caller, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = replace(app.config.limits, connections_per_address=12)
    monkeypatch.setattr(app.services, "config", replace(app.config, limits=limits))
    _, answer = await frame.send()
    other = Frame(app, frame.session, frame.bot)
    other.data = frame.data
    _, others = await other.send(key="a-key-of-another-visitor")
    query = f"after={answer['messages'][-1]['id']}&wait=1&known=bot-0"
    reads = [asyncio.create_task(frame.read(query)) for _ in range(web_visits.HELD_OF_A_VISITOR + 3)]
    await until(lambda: sum(not read.done() for read in reads) <= web_visits.HELD_OF_A_VISITOR)
    assert sum(not read.done() for read in reads) == web_visits.HELD_OF_A_VISITOR
    # Another visitor at the address has what is left of its share.
    query = f"after={others['messages'][-1]['id']}&wait=1&known=bot-0"
    more = [asyncio.create_task(other.read(query)) for _ in range(8)]
    await until(lambda: sum(not read.done() for read in more) <= 4)
    assert sum(not read.done() for read in more) == 4
    # What is held is answered, and its place is free again.
    await frame.send("news", after=answer["messages"][-1]["id"])
    await other.send("news", after=others["messages"][-1]["id"])
    assert [status for status, _ in await asyncio.wait_for(asyncio.gather(*reads, *more), 10)] == [200] * 19
    again = asyncio.create_task(frame.read(f"after={(await frame.read())[1]['messages'][-1]['id']}&wait=1&known=bot-0"))
    await asyncio.wait([again], timeout=1)
    assert not again.done()
    app.services.events.close()
    await again


@pytest.mark.postgres
async def test_no_answer_tells_how_many_messages_the_service_has(frame: Frame, caller: Caller) -> None:
    for number in range(3):
        await caller.send(f"elsewhere {number}")
    _, answer = await frame.send()
    assert {name: type(value) for name, value in answer["messages"][0].items() if name not in ("role", "text", "created_at")} == {"id": str}
    # Ids are no numbers in order either, and a message that is not the visitor's own leads nowhere else.
    elsewhere = (await perform(caller.app.services, ADMIN, "conversation.list", {"bot": caller.bot, "channel": "api"})).items[0]
    shown = await perform(caller.app.services, ADMIN, "conversation.show", {"conversation": elsewhere.id})
    assert texts((await frame.read(f"after={shown.messages[0].id}"))[1]) == texts(answer)
    assert texts((await frame.read(f"before={shown.messages[0].id}"))[1]) == []


@pytest.mark.postgres
async def test_after_an_erasure_the_visitor_sees_what_comes_then(frame: Frame, caller: Caller) -> None:
    _, answer = await frame.send()
    user_id = (await perform(caller.app.services, ADMIN, "conversation.list", {"bot": caller.bot})).items[0].user_id
    await perform(caller.app.services, ADMIN, "conversation.erase", {"user_id": user_id, "bot": caller.bot})
    _, again = await frame.send("again", after=answer["messages"][-1]["id"])
    assert texts(again) == [("user", "again"), ("assistant", "echo: again")]


async def test_nobody_types_in_a_conversation_that_does_not_exist(frame: Frame, caller: Caller) -> None:
    events = caller.app.services.events
    await frame.read("after=&typing=1", Authorization="First a-key-that-nobody-has")
    assert not events.typing._ends
    await frame.send()
    await frame.read("after=&typing=1")
    (mark,) = events.typing._ends.items()
    for _ in range(5):
        await frame.read("after=&typing=1")
    assert list(events.typing._ends.items()) == [mark]


class TestLimits:
    @pytest.fixture
    def config(self, config: Config) -> Config:
        return replace(config, limits=replace(config.limits, web_per_minute=2, web_daily=3, max_in_flight=2))

    async def test_messages_of_an_address_are_limited_by_the_minute(self, frame: Frame, clock: FakeClock) -> None:
        assert [(await frame.send())[0] for _ in range(3)] == [200, 200, 429]
        status, answer = await frame.send()
        assert (status, answer["error"], 0 < answer["retry_after"] <= 60) == (429, "too_many_messages", True)
        assert (await frame.read())[0] == 200
        clock.advance(60)
        assert (await frame.send())[0] == 200

    async def test_reads_are_counted_apart(self, frame: Frame) -> None:
        await frame.send()
        statuses = [(await frame.read())[0] for _ in range(60)]
        assert set(statuses) == {200, 429}
        assert statuses[0] == 200

    @pytest.mark.postgres
    async def test_a_bot_has_a_number_of_new_conversations_a_day(self, frame: Frame, clock: FakeClock, caller: Caller) -> None:
        for _ in range(3):
            clock.advance(60)
            frame.token = ""
            assert (await frame.send())[0] == 200
        clock.advance(60)
        frame.token = ""
        status, answer = await frame.send()
        assert status == 429
        assert (answer["error"], answer["retry_after"] > 3600) == ("too_many_conversations", True)
        # A new process counts what is stored.
        await perform(caller.app.services, ADMIN, "conversation.list", {"bot": caller.bot})
        clock.advance(86_400)
        frame.token = ""
        assert (await frame.send())[0] == 200

    async def test_too_many_messages_at_once_are_refused(self, frame: Frame, engine: ScriptedEngine) -> None:
        engine.gate = asyncio.Event()
        first = asyncio.create_task(frame.send())
        await begun(engine, 1)
        status, answer = await frame.send()
        assert (status, answer["error"]) == (503, "service_unavailable")
        engine.gate.set()
        assert (await first)[0] == 200
