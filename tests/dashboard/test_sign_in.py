"""Set-up links, second factor, own settings and sessions, over pages."""

from __future__ import annotations

import re

import pytest

from chatsvc.dashboard.templating import qr_code
from chatsvc.domain.operators import IDLE_MS, SECOND_FACTOR_MS
from tests.dashboard.client import Client, Shown
from tests.dashboard.site import PASSWORD, Site
from tests.services.test_operators import code_of

NEW = "another plain sentence"


async def join(site: Site, email: str, password: str = PASSWORD, language: str = "en") -> Client:
    """Add an editor who chooses a password by the link. Returns that browser."""
    made = await site.do("operator.add", email=email, account=site.mine.account, role="editor")
    path = made.link.removeprefix(site.app.config.server.public_url)
    client = await site.client(language=language)
    page = await client.submit(path, "password.set", name="Nil Kaya", password=password, follow=False)
    assert (page.status, page.headers["Location"]) == (303, "/")
    return client


async def sign_in(client: Client, email: str, password: str, **more: str) -> Shown:
    """Send the login form."""
    return await client.post("/login", {"email": email, "password": password, "next": "/", **more}, follow=False)


async def test_an_installation_without_operators_names_the_command(site: Site, anyone: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from chatsvc.services.team import operators

    async def none(_: object) -> bool:
        return False

    monkeypatch.setattr(operators, "any_exists", none)
    page = await anyone.get("/login")
    assert "chatsvc operator add EMAIL --admin" in page.text
    assert page.forms("session.create") == []


async def test_a_set_up_link_works_once_and_a_bad_one_is_no_page(site: Site, anyone: Client) -> None:
    made = await site.do("operator.add", email="link@example.com", account=site.mine.account, role="reader")
    path = made.link.removeprefix(site.app.config.server.public_url)
    shown = await anyone.get(path)
    assert "link@example.com" in shown.text
    refused = await anyone.submit(path, "password.set", password="short", name="Nil Kaya")
    assert "Nil Kaya" in refused.body
    assert (refused.status, refused.alert) == (422, "The password needs at least 12 characters.")
    both = await anyone.submit(path, "password.set", password="short", name=" ")
    assert both.faults().keys() == {"name", "password"}
    assert all(part in shown.text for part in ("This link works until", "21 November 2026", "15:14", "(Europe/Istanbul)"))
    nameless = await anyone.submit(path, "password.set", password=PASSWORD, name=" ")
    assert (nameless.status, nameless.alert) == (422, "Name: please fill in this field.")
    endless = await anyone.submit(path, "password.set", password=PASSWORD, name="n" * 201)
    (form,) = endless.forms("password.set")
    assert (endless.status, dict(endless.values(form))["name"]) == (422, "n" * 201)
    done = await anyone.submit(path, "password.set", password=PASSWORD, name=" Nil Kaya ", follow=False)
    assert (done.status, done.headers["Location"]) == (303, "/")
    assert (await anyone.get("/")).status == 200
    (form,) = (page := await anyone.get("/me")).forms("operator.set")
    assert dict(page.values(form))["name"] == "Nil Kaya"
    stranger = await site.client()
    expired = await site.do("operator.link", email="link@example.com")
    site.clock.advance(25 * 3600)
    late = expired.link.removeprefix(site.app.config.server.public_url)
    pages = [await stranger.get(one) for one in (path, "/setup/never-made", late, "/nowhere")]
    pages += [await stranger.post(one, {"password": PASSWORD}) for one in (path, "/setup/never-made", late)]
    assert {(page.status, page.text) for page in pages} == {(404, pages[0].text)}
    site.clock.advance(-25 * 3600)


async def test_a_new_session_token_comes_with_every_step_of_the_sign_in(site: Site) -> None:
    client = await join(site, "second@example.com")
    tokens = [cookie.value for cookie in client.session.cookie_jar]
    await client.submit("/me", "totp.enable", password=PASSWORD)
    page = await client.get("/shown")
    assert page.status == 410
    wrong = await client.submit("/me", "totp.enable", password="wrong")
    assert (wrong.status, wrong.alert) == (422, "Your current password is not right.")
    offered = await client.submit("/me", "totp.enable", password=PASSWORD, follow=False)
    assert offered.headers["Location"] == "/shown"
    shown = await client.get("/shown")
    secret, uri = shown.secrets()
    assert uri.startswith("otpauth://totp/")
    assert f"secret={secret}&" in uri
    wrong = await client.submit("/me", "totp.confirm", code="000000")
    assert (wrong.status, wrong.alert) == (422, "The code is not right, or it was already used.")
    codes = (await client.submit("/me", "totp.confirm", code=code_of(secret, site.clock))).secrets()
    assert len(codes) == 10
    assert "10 recovery codes" in (await client.get("/me")).text
    site.clock.advance(60)

    again = await site.client()
    first = await again.submit("/login?next=/me", "session.create", email="second@example.com", password=PASSWORD, follow=False)
    assert first.headers["Location"] == "/login/code?next=%2Fme"
    tokens += [cookie.value for cookie in again.session.cookie_jar]
    for path in ("/", "/me", "/operators"):
        assert (await again.get(path, follow=False)).headers["Location"] == "/login/code"
    refused = await again.submit("/login/code", "session.verify", code="nonsense")
    assert refused.status == 422
    done = await again.submit("/login/code?next=/me", "session.verify", code=code_of(secret, site.clock), follow=False)
    assert (done.status, done.headers["Location"]) == (303, "/me")
    tokens += [cookie.value for cookie in again.session.cookie_jar]
    assert (await again.get("/login/code", follow=False)).headers["Location"] == "/"
    assert len(set(tokens)) == len(tokens) == 3

    with_code = await site.client()
    await sign_in(with_code, "second@example.com", PASSWORD)
    assert (await with_code.submit("/login/code", "session.verify", code=codes[0].upper())).status == 200
    assert "9 recovery codes" in (await with_code.get("/me")).text
    off = await with_code.submit("/me", "totp.disable", password="wrong")
    assert (off.status, off.alert) == (422, "Your current password is not right.")
    await with_code.submit("/me", "totp.disable", password=PASSWORD)
    assert "Off." in (await with_code.get("/me")).text


async def test_a_half_finished_sign_in_ends_after_ten_minutes(site: Site) -> None:
    client = await join(site, "half@example.com")
    shown = await client.submit("/me", "totp.enable", password=PASSWORD)
    secret, address = shown.secrets()
    assert address.startswith("otpauth:")
    assert qr_code(address) in shown.body
    assert "QR code of the secret" not in (await client.submit("/me", "totp.confirm", code=code_of(secret, site.clock))).body
    waiting = await site.client()
    await sign_in(waiting, "half@example.com", PASSWORD)
    assert (await waiting.get("/login/code")).status == 200
    site.clock.advance(SECOND_FACTOR_MS / 1000 + 1)
    assert (await waiting.get("/login/code", follow=False)).headers["Location"] == "/login?next=%2Flogin%2Fcode"
    assert (await waiting.post("/login/code", {"code": "123456"}, follow=False)).headers["Location"] == "/login"


async def test_a_session_someone_else_chose_is_never_taken_over(site: Site) -> None:
    client = await site.client()
    chosen = "x" * 43
    answer = await client.request(
        "POST",
        "/login",
        data={"email": site.email("reader"), "password": PASSWORD},
        headers={"Cookie": f"chatsvc_session={chosen}"},
        follow=False,
    )
    cookie = answer.headers["Set-Cookie"]
    assert chosen not in cookie
    assert re.fullmatch(r"chatsvc_session=[\w-]{43}; HttpOnly; Max-Age=2592000; Path=/; SameSite=Lax", cookie)


async def test_a_changed_password_ends_the_other_sessions(site: Site) -> None:
    client = await join(site, "change@example.com")
    other = await site.client()
    await sign_in(other, "change@example.com", PASSWORD)
    assert (await other.get("/me")).status == 200
    wrong = await client.submit("/me", "password.set", current="not this one", password=NEW)
    assert (wrong.status, wrong.alert, NEW in wrong.body) == (422, "Your current password is not right.", False)
    done = await client.submit("/me", "password.set", current=PASSWORD, password=NEW)
    assert (done.status, "your other sessions have ended" in done.text) == (200, True)
    assert (await other.get("/me", follow=False)).status == 303
    assert (await sign_in(await site.client(), "change@example.com", NEW)).status == 303


async def test_what_an_open_page_reads_by_itself_does_not_keep_a_session_alive(site: Site) -> None:
    client = await site.client("reader")
    for _ in range(3):
        site.clock.advance(IDLE_MS / 1000 / 4)
        assert (await client.get("/waiting")).status == 200
        assert (await client.get("/", headers={"Chatsvc-Refresh": "1"})).status == 200
    assert (await client.get("/inbox")).status == 200
    site.clock.advance(IDLE_MS / 1000 - 1)
    assert (await client.get("/waiting", follow=False)).status == 200
    site.clock.advance(1)
    assert (await client.get("/waiting", follow=False)).status == 303
    assert (await client.get("/", follow=False)).status == 303


async def test_sessions_are_listed_and_revoked(site: Site) -> None:
    client = await join(site, "many@example.com")
    other = await site.client()
    await sign_in(other, "many@example.com", PASSWORD)
    ids = (await client.get("/me")).records()
    assert len(ids) == 2
    page = await client.get("/me")
    own = next(one.get("data-id") for one in page.tree.iter("tr") if "this one" in "".join(one.itertext()))
    (others,) = [one for one in ids if one != own]
    await client.submit("/me", "session.revoke", where={"id": others})
    assert (await other.get("/me", follow=False)).status == 303
    again = await client.post("/me/sessions", {"id": others})
    assert (again.status, again.alert) == (404, "The link may be old, or the record was deleted.")
    out = await client.submit("/me", "session.revoke", follow=False)
    assert out.headers["Location"] == "/login"


async def test_the_notice_of_failed_webhooks_is_for_owners(site: Site) -> None:
    client = await join(site, "hooks@example.com")
    assert "failed webhooks" not in (await client.get("/me")).text
    refused = await client.post("/me/profile", {"name": "Ada", "notice": "webhook"})
    assert (refused.status, refused.alert) == (
        422,
        "hooks@example.com cannot be told of failed webhooks: only owners and administrators can.",
    )
    await site.do("operator.set", email="hooks@example.com", account=site.mine.account, role="owner")
    assert "failed webhooks" in (await client.get("/me")).text


async def test_name_notices_and_language_are_ones_own(site: Site) -> None:
    client = await join(site, "own@example.com")
    await client.submit("/me", "operator.set", name="Ada <b>", notice=["waiting", "request"])
    page = await client.get("/me")
    assert "E-mail is not set up on this installation" in page.text
    (form,) = page.forms("operator.set")
    assert [value for name, value in page.values(form) if name == "notice"] == ["waiting", "request"]
    assert "Ada <b>" in page.text
    await client.submit("/me", "operator.set", notice=None)
    (form,) = (await client.get("/me")).forms("operator.set")
    assert "notice" not in dict(page.values(form)) or not [one for one in form.iter("input") if one.get("checked") is not None]
    refused = await client.post("/me/profile", {"name": "n" * 201, "notice": "request"})
    (form,) = refused.forms("operator.set")
    typed = [pair for pair in refused.values(form) if pair[0] not in ("account", "email")]
    assert (refused.status, typed) == (422, [("name", "n" * 201), ("notice", "request")])
    assert (await client.post("/me/profile", {"name": "a\x00b", "notice": "nonsense"})).status == 422
    await client.submit("/me", "operator.timezone", timezone="America/New_York")
    assert "America/New_York" in (await client.get("/conversations")).text
    wrong = await client.submit("/me", "operator.timezone", timezone="Mars")
    assert (wrong.status, "“Mars” is not a time zone" in wrong.alert, "Mars" in wrong.body) == (422, True, True)
    await client.submit("/me", "operator.timezone", timezone="")
    assert "America/New_York" not in (await client.get("/conversations")).text
    turkish = await client.submit("/me", "operator.language", language="tr")
    assert (turkish.language, "Ayarlarım" in turkish.text) == ("tr", True)
    wrong = await client.post("/me/language", {"language": "de"})
    assert (wrong.status, "dili yok" in wrong.alert) == (422, True)


async def test_signing_out_by_address_shows_a_button(site: Site) -> None:
    client = await join(site, "out@example.com")
    assert (await client.get("/logout")).forms("session.remove")
    assert (await client.get("/")).status == 200
    await client.submit("/logout", "session.remove")
    assert (await client.get("/logout", follow=False)).headers["Location"] == "/login"
    assert (await client.post("/logout", follow=False)).headers["Location"] == "/login"


async def test_secrets_are_shown_to_their_session_alone_and_once(site: Site) -> None:
    client = await join(site, "once@example.com")
    answer = await client.submit("/me", "totp.enable", password=PASSWORD, follow=False)
    cookie = answer.headers["Set-Cookie"].partition(";")[0]
    stranger = await site.client("reader")
    assert (await stranger.get("/shown", headers={"Cookie": cookie})).status in (303, 410, 200)
    kept = [f"{one.key}={one.value}" for one in stranger.session.cookie_jar if one.key == "chatsvc_session"]
    theft = await stranger.get("/shown", headers={"Cookie": f"{cookie}; {kept[0]}"})
    assert (theft.status, theft.secrets()) == (410, [])
    shown = await client.get("/shown")
    assert (len(shown.secrets()), shown.headers["Cache-Control"]) == (2, "no-store")
    gone = await client.get("/shown")
    assert (gone.status, "This was shown already" in gone.text) == (410, True)
    # Neither does a copy of the cookies.
    kept = [f"{one.key}={one.value}" for one in client.session.cookie_jar if one.key == "chatsvc_session"]
    copied = await stranger.get("/shown", headers={"Cookie": f"{cookie}; {kept[0]}"})
    assert (copied.status, copied.secrets()) == (410, [])
    await client.submit("/me", "totp.enable", password=PASSWORD, follow=False)
    site.clock.advance(601)
    assert (await client.get("/shown")).status == 410
