"""Attacks on the dashboard: stored scripts, header injection, brute force, bombs, framing, caches, cookies, races."""

import asyncio
import json
from contextlib import AsyncExitStack
from ipaddress import ip_network
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest
from aiohttp import FormData

from chatsvc.dashboard import localization
from chatsvc.domain.captures import Captured
from chatsvc.domain.models import SendMessage
from chatsvc.services.knowledge import unanswered
from chatsvc.services.knowledge.file_reading import read_files
from chatsvc.web.forms import FormLimits
from tests.dashboard.client import Client
from tests.dashboard.site import PASSWORD, ROLES, Business, Site, open_site
from tests.dashboard.walk import crawl, ids_of, pages, path_of
from tests.services.test_operators import code_of
from tests.store.inspection import execute

TRIES = 5  # of what works once, at the same moment
MARK = "x-attack"
SCRIPT = f"""'"></textarea></script><{MARK} onload=alert(1)>{{{{7*7}}}}<!--"""


async def poison(site: Site, business: Business) -> None:
    """Write markup into every text that visitors and the team can write."""
    bot = business.bot
    await site.do("bot.set", bot=bot, name=f"Bot {SCRIPT}", description=SCRIPT, greeting=SCRIPT, instructions=SCRIPT)
    await site.do("key.create", account=business.account, name=f"Key {SCRIPT}")
    text = f"## Question {SCRIPT}?\nalt: Again {SCRIPT}?\n\nAnswer {SCRIPT}\n".encode()
    await site.do("knowledge.add", bot=bot, files=read_files([(f"{SCRIPT.replace('/', '_')}.md", text)], "en"))
    for kind in ("support", "appointment"):
        wish = Captured(kind, SCRIPT, SCRIPT, "x@example.com", "05321234567", details=((SCRIPT, SCRIPT),))
        await site.say(business, f"{SCRIPT} hello", f"{kind} {SCRIPT}", wish)
    await site.say(business, SCRIPT, SCRIPT)
    for role in ROLES:
        await site.do("operator.set", email=site.email(role), name=f"{role} {SCRIPT}")
    await poison_more(site, business)


async def poison_more(site: Site, business: Business) -> None:
    """Write markup where the team, other machines and pages of visitors can: notes, forms, titles, names, answers of webhooks."""
    bot, ids = business.bot, await ids_of(site, business)
    await site.do("account.create", name=f"Account {SCRIPT}")
    for kind in ("request", "appointment"):
        await site.do(f"{kind}.set", **{kind: ids[kind]}, note=SCRIPT)
    question = {"name": SCRIPT[:60], "kind": "choice", "choices": [SCRIPT[:60], "b"], "ask": {"en": SCRIPT, "tr": SCRIPT}}
    await site.do("bot.set", bot=bot, forms={"quote": {"fields": [question]}, "appointment": {"fields": [question]}})
    await site.do("bot.set", bot=bot, texts={"done": dict.fromkeys(("en", "tr"), SCRIPT.partition("{")[0])})
    await site.do("channel.set", bot=bot, channel="web", title=SCRIPT[:60])
    await unanswered.note(site.app.services, await site.do("bot.show", bot=bot), SendMessage(bot, f"why {SCRIPT} zeppelin", SCRIPT), "web")
    attempt = "UPDATE webhook_attempts SET answer = :1, error = :2, url = :3, signature = :2, body = :4 WHERE id = :5"
    body = json.dumps({"event": SCRIPT, "data": {"message": SCRIPT}})
    await execute(site.app, attempt, SCRIPT.encode(), SCRIPT, f"https://hooks.example.com/{SCRIPT}", body.encode(), ids["attempt"])
    statement = "UPDATE messages SET author = :1, role = 'operator' WHERE role = 'assistant' AND number % 2 = 0"
    await execute(site.app, statement, SCRIPT)
    await execute(site.app, "UPDATE requests SET source_page_host = :1", SCRIPT)
    await execute(site.app, "UPDATE conversations SET source_page_host = :1, operator_name = :1, handling = 'operator'", SCRIPT)


def marked(tree: Element) -> list[str]:
    """Elements and attributes that an attacker has managed to write."""
    elements = [element.tag for element in tree.iter() if element.tag == MARK]
    return elements + [name for element in tree.iter() for name in element.attrib if name.startswith("on")]


def turned(tree: Element) -> list[str]:
    """Texts and attributes with an override of the direction that does not end in them."""
    texts = [text for element in tree.iter() for text in (element.text, element.tail, *element.attrib.values()) if text]
    return [text for text in texts if text.count("\u202e") > text.count("\u202c")]


async def test_texts_of_visitors_and_owners_are_never_markup_and_turn_nothing_round(site: Site) -> None:
    await poison(site, site.mine)
    client, name = await site.client(), "Eve \u202egpj.exe"
    await client.post("/login", {"email": site.email("owner"), "password": PASSWORD}, headers={"User-Agent": f"Mozilla {SCRIPT}"})
    handled = "UPDATE conversations SET visitor_name = :1, operator_name = :1, handling = 'operator' WHERE user_id NOT LIKE 'appointment%'"
    await execute(site.app, handled, name)
    for column in ("requests SET visitor_name", "requests SET message", "messages SET author", "operators SET name", "bots SET name"):
        await execute(site.app, f"UPDATE {column} = :1", f"{SCRIPT} {name}")
    seen = ""
    for role in ("owner", "administrator"):
        for page in await crawl(await site.client(role), await ids_of(site, site.mine)):
            assert (marked(page.tree), turned(page.tree), "49<!--" in page.body) == ([], [], False), page.path
            seen += page.body
    assert (f"&lt;{MARK}" in seen, seen.count(f"Mozilla {SCRIPT[0]}")) == (True, 0)
    # At the end of an element, and inside a sentence.
    assert f"{name}\u202c</" in seen
    assert f"{name}\u202c is handling this conversation" in seen


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("plain", ""),
        ("\u202ea", "\u202c"),
        ("\u202aa\u202c", ""),
        ("\u2067\u202ea", "\u202c\u2069"),
        ("\u2067\u202ea\u2069", ""),
        ("\u202e\u2067a\u202c", "\u2069\u202c"),
        ("\u2069\u202ca", ""),
    ],
)
def test_directions_end_with_their_text(text: str, ends: str) -> None:
    assert localization.closed(text) == text + ends


PARAMETERS = ("next", "account", "done", "after", "since", "until", "q", "bot", "status", "channel", "days", "limit", "event")
ODD = ("\r\nSet-Cookie: a=b", "\x00", "\u00ed\u00a0\u0080", "x" * 5000, "-1", "9223372036854775808", "\u0663")


async def test_parameters_of_addresses_are_neither_markup_nor_headers(site: Site, owner: Client) -> None:
    values = (SCRIPT, *ODD)
    for number, route in enumerate(pages()):
        path = path_of(route.template, await ids_of(site, site.mine))
        # Each page gets each value in some parameter, and each parameter each value on some page.
        queries = [{name: values[(position + number + turn) % len(values)] for position, name in enumerate(PARAMETERS)} for turn in (0, 4)]
        queries += [{PARAMETERS[number % len(PARAMETERS)]: SCRIPT}]
        for query in queries:
            answer = await owner.get(path, params=query, follow=False)
            assert answer.status < 500, (route.template, query)
            assert "a=b" not in str(answer.headers), route.template
            if answer.body and answer.headers["Content-Type"].startswith("text/html"):
                assert marked(answer.tree) == [], route.template


async def test_paths_are_neither_markup_nor_files(owner: Client) -> None:
    paths = "/<x-attack> /static/../front_end.py /static/%2e%2e/front_end.py /setup/%00 /operators/%ff /bots/%3Cx-attack%3E //evil.example/"
    for path in paths.split():
        answer = await owner.get(path)
        assert (answer.status, marked(answer.tree)) == (404, [])


async def test_a_strangers_guesses_do_not_hold_up_the_owner(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        site = await open_site(tmp_path, stack, trusted_proxies=(ip_network("127.0.0.0/8"),))
        client = await site.client()

        async def attempt(password: str, address: str) -> int:
            fields = {"email": site.email("owner"), "password": password}
            return (await client.post("/login", fields, headers={"X-Forwarded-For": address}, follow=False)).status

        assert await attempt(PASSWORD, "192.0.2.1") == 303
        for number in range(6):
            assert await attempt("a wrong password", "198.51.100.7") == (422 if number < 5 else 429)
        assert await attempt(PASSWORD, "198.51.100.8") == 429
        # Not at a place never seen before, and at a known one not even while many places guess.
        assert await attempt(PASSWORD, "203.0.113.9") == 303
        for number in range(20):
            await attempt("a wrong password", f"10.0.{number}.1")
        assert await attempt(PASSWORD, "10.1.0.1") == 429
        assert await attempt(PASSWORD, "192.0.2.1") == 303


async def test_an_unknown_address_reads_like_a_wrong_password(anyone: Client) -> None:
    pages_ = [await anyone.post("/login", {"email": email, "password": "x" * 20}) for email in ("reader@example.com", "nobody@example.com")]
    texts = [page.body.replace("reader@", "@").replace("nobody@", "@") for page in pages_]
    assert texts[0] == texts[1]


async def test_bombs_are_refused_before_they_are_read(owner: Client, anyone: Client) -> None:
    limits = FormLimits()
    for client, path in ((anyone, "/login"), (owner, "/me/profile"), (owner, "/operators")):
        answer = await client.post(path, {"name": "x" * (limits.size + 1)})
        assert answer.status == 413
        many = await client.post(path, [("a", "b")] * (limits.fields + 1))
        assert many.status == 422
        form = FormData(default_to_multipart=True)
        for number in range(limits.fields + 1):
            form.add_field(f"f{number}", "x")
        assert (await client.post(path, form)).status == 422  # type: ignore[arg-type]  # aiohttp encodes it
        broken = await client.request("POST", path, data=b"--x\r\nnonsense", headers={"Content-Type": "multipart/form-data; boundary=x"})
        assert broken.status == 422


async def test_forms_that_arrive_at_once_add_one_operator(owner: Client) -> None:
    answers = await asyncio.gather(
        *(owner.post("/operators", {"email": "race@example.com", "role": "reader"}, follow=False) for _ in range(5))
    )
    assert sorted(answer.status for answer in answers) == [303, 422, 422, 422, 422]


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "POST"])
async def test_every_answer_to_any_method_is_protected(site: Site, administrator: Client, method: str) -> None:
    ids, body = await ids_of(site, site.mine), "x" * (FormLimits().size + 1) if method == "POST" else None
    for route in pages("POST" if method == "POST" else "GET"):
        path = path_of(route.template, ids)
        if path == "/logout":
            continue
        answer = await administrator.request(method, path, follow=False, data=body)
        assert answer.status < 500, path
        headers = [answer.headers.get(name) for name in ("Cache-Control", "Referrer-Policy", "X-Content-Type-Options")]
        assert headers == ["no-store", "same-origin", "nosniff"], path
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"], path


async def test_reading_changes_nothing(site: Site, owner: Client) -> None:
    await owner.submit("/me", "totp.enable", password=PASSWORD, follow=False)
    head = await owner.request("HEAD", "/shown")
    assert (head.status, head.body) == (200, "")
    assert len((await owner.get("/shown")).secrets()) == 2
    for route in pages("POST"):
        answer = await owner.get(path_of(route.template, await ids_of(site, site.mine)), follow=False)
        assert answer.status in (200, 303, 403, 404, 405), route.template
    assert (await owner.request("DELETE", "/me")).status == 405
    assert (await owner.request("PUT", "/login")).status == 405


async def test_with_https_the_cookie_is_secure_and_bound_to_the_host(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        site = await open_site(tmp_path, stack, public_url="https://bots.example.com")
        client = await site.client()
        answer = await client.post("/login", {"email": site.email("owner"), "password": PASSWORD}, follow=False)
        cookie = answer.headers["Set-Cookie"]
        assert cookie.startswith("__Host-chatsvc_session=")
        assert cookie.endswith("; HttpOnly; Max-Age=2592000; Path=/; SameSite=Lax; Secure")
        token = cookie.partition(";")[0]
        assert (await client.get("/me", headers={"Cookie": token})).status == 200
        bare = token.removeprefix("__Host-")
        assert (await client.get("/me", headers={"Cookie": bare}, follow=False)).status == 303
        for origin, status in (("https://bots.example.com", 303), ("https://evil.example", 403)):
            sent = {"Cookie": token, "Sec-Fetch-Site": "", "Origin": origin}
            assert (await client.post("/logout", headers=sent, follow=False)).status == status


async def test_a_set_up_link_makes_one_session(site: Site) -> None:
    invitation = await site.do("operator.add", email="link-race@example.com", admin=True)
    path = site.path_of(invitation.link)
    clients = [await site.client() for _ in range(TRIES)]
    answers = await asyncio.gather(*(client.post(path, {"name": "Nil Kaya", "password": PASSWORD}, follow=False) for client in clients))
    assert sorted(answer.status for answer in answers) == [303, *[404] * (TRIES - 1)]
    assert len(await site.do("operator.sessions", email="link-race@example.com")) == 1


async def test_a_secret_is_shown_to_one_of_those_who_ask_at_once(site: Site) -> None:
    client = await site.join("shown-race@example.com", admin=True)
    await client.submit("/me", "totp.enable", password=PASSWORD, follow=False)
    cookie = "; ".join(f"{morsel.key}={morsel.value}" for morsel in client.session.cookie_jar)
    stranger = await site.client()
    answers = await asyncio.gather(*(stranger.get("/shown", headers={"Cookie": cookie}) for _ in range(TRIES)))
    assert sorted((answer.status, len(answer.secrets())) for answer in answers) == [(200, 2), *[(410, 0)] * (TRIES - 1)]


async def test_a_code_completes_one_sign_in(site: Site) -> None:
    client = await site.join("code-race@example.com", admin=True)
    secret, _ = (await client.submit("/me", "totp.enable", password=PASSWORD)).secrets()
    recovery, *_ = (await client.submit("/me", "totp.confirm", code=code_of(secret, site.clock))).secrets()
    site.clock.advance(60)
    for code in (code_of(secret, site.clock), recovery):
        waiting = [await site.client() for _ in range(TRIES)]
        for browser in waiting:
            await browser.post("/login", {"email": "code-race@example.com", "password": PASSWORD})
        answers = await asyncio.gather(*(browser.post("/login/code", {"code": code}, follow=False) for browser in waiting))
        assert sorted(answer.status for answer in answers) == [303, *[422] * (TRIES - 1)]
        site.clock.advance(3600)


async def test_codes_for_an_offered_secret_are_not_guessed(site: Site) -> None:
    client = await site.join("guess@example.com", admin=True)
    await client.submit("/me", "totp.enable", password=PASSWORD, follow=False)
    answers = [await client.post("/me/second-factor/confirm", {"code": f"{number:06}"}) for number in range(7)]
    assert [answer.status for answer in answers] == [*[422] * 5, 429, 429]
    assert "Retry-After" in answers[-1].headers
