"""Attacks on things that work once: links, codes and secrets that are tried several times at the same moment."""

from __future__ import annotations

import asyncio

from tests.dashboard.client import Client
from tests.dashboard.site import PASSWORD, Site
from tests.services.test_operators import code_of

TRIES = 5


async def join(site: Site, email: str) -> Client:
    """Add an administrator who has chosen a password and is signed in."""
    made = await site.do("operator.add", email=email, admin=True)
    client = await site.client()
    await client.post(made.link.removeprefix(site.app.config.server.public_url), {"name": "Nil Kaya", "password": PASSWORD})
    return client


async def test_a_set_up_link_makes_one_session(site: Site) -> None:
    made = await site.do("operator.add", email="link-race@example.com", admin=True)
    path = made.link.removeprefix(site.app.config.server.public_url)
    clients = [await site.client() for _ in range(TRIES)]
    answers = await asyncio.gather(*(client.post(path, {"name": "Nil Kaya", "password": PASSWORD}, follow=False) for client in clients))
    assert sorted(answer.status for answer in answers) == [303, *[404] * (TRIES - 1)]
    assert len(await site.do("operator.sessions", email="link-race@example.com")) == 1


async def test_a_secret_is_shown_to_one_of_those_who_ask_at_once(site: Site) -> None:
    client = await join(site, "shown-race@example.com")
    await client.submit("/me", "totp.enable", password=PASSWORD, follow=False)
    cookie = "; ".join(f"{one.key}={one.value}" for one in client.session.cookie_jar)
    stranger = await site.client()
    answers = await asyncio.gather(*(stranger.get("/shown", headers={"Cookie": cookie}) for _ in range(TRIES)))
    assert sorted((answer.status, len(answer.secrets())) for answer in answers) == [(200, 2), *[(410, 0)] * (TRIES - 1)]


async def test_a_code_completes_one_sign_in(site: Site) -> None:
    client = await join(site, "code-race@example.com")
    secret, _ = (await client.submit("/me", "totp.enable", password=PASSWORD)).secrets()
    recovery, *_ = (await client.submit("/me", "totp.confirm", code=code_of(secret, site.clock))).secrets()
    site.clock.advance(60)
    for code in (code_of(secret, site.clock), recovery):
        waiting = [await site.client() for _ in range(TRIES)]
        for one in waiting:
            await one.post("/login", {"email": "code-race@example.com", "password": PASSWORD})
        answers = await asyncio.gather(*(one.post("/login/code", {"code": code}, follow=False) for one in waiting))
        assert sorted(answer.status for answer in answers) == [303, *[422] * (TRIES - 1)]
        site.clock.advance(3600)


async def test_codes_for_an_offered_secret_are_not_guessed(site: Site) -> None:
    client = await join(site, "guess@example.com")
    await client.submit("/me", "totp.enable", password=PASSWORD, follow=False)
    answers = [await client.post("/me/second-factor/confirm", {"code": f"{number:06}"}) for number in range(7)]
    assert [answer.status for answer in answers] == [*[422] * 5, 429, 429]
    assert "Retry-After" in answers[-1].headers


async def test_administrators_who_remove_each_other_at_once_leave_one(site: Site) -> None:
    there = {one.email for one in (await site.do("operator.list")).items if one.admin}
    clients = {email: await join(site, email) for email in ("first-admin@example.com", "second-admin@example.com")}
    for email in there:
        await site.do("operator.set", email=email, account=site.mine.account, role="owner")
        await site.do("operator.set", email=email, admin=False)
    first, second = clients
    answers = await asyncio.gather(
        clients[first].post(f"/operators/{second}/remove", {"yes": "1"}, follow=False),
        clients[second].post(f"/operators/{first}", {"admin": "false"}, follow=False),
        clients[first].post(f"/operators/{second}", {"admin": "false"}, follow=False),
    )
    assert all(answer.status < 500 for answer in answers)
    assert [one.email for one in (await site.do("operator.list")).items if one.admin] in ([first], [second])
