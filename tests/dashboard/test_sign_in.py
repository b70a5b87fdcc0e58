"""Set-up links, second factor, own settings and sessions, over pages."""

import re

import pytest

from chatsvc.dashboard.responses import qr_code
from chatsvc.domain.operators import IDLE_MS, SECOND_FACTOR_MS
from tests.dashboard.client import Client, Shown, text_of
from tests.dashboard.site import PASSWORD, Site
from tests.services.test_operators import code_of

NEW = "another plain sentence"
NOT_RIGHT = "Your current password is not right."


async def sign_in(client: Client, email: str, password: str = PASSWORD) -> Shown:
    """Send the login form."""
    return await client.post("/login", {"email": email, "password": password, "next": "/"}, follow=False)


def cookies(client: Client, name: str = "chatsvc_session") -> list[str]:
    return [cookie.value for cookie in client.session.cookie_jar if cookie.key == name]


async def led(client: Client, path: str) -> str:
    """Return where a page leads to."""
    return str((await client.get(path, follow=False)).headers["Location"])


async def test_an_installation_without_operators_names_the_command(anyone: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from chatsvc.services.team import operators

    async def none(_: object) -> bool:
        return False

    monkeypatch.setattr(operators, "any_exists", none)
    page = await anyone.get("/login")
    assert (page.has("chatsvc operator add EMAIL --admin"), page.forms("session.create")) == (True, [])


async def test_a_set_up_link_works_once_and_a_bad_one_is_no_page(site: Site, anyone: Client) -> None:
    added = await site.do("operator.add", email="link@example.com", account=site.mine.account, role="reader")
    path = site.path_of(added.link)
    assert (await anyone.get(path)).has("link@example.com", "This link works until", "21 November 2026", "15:14", "(Europe/Istanbul)")
    for password, name, faults in (("short", "Nil Kaya", {"password"}), ("short", " ", {"name", "password"}), (PASSWORD, " ", {"name"})):
        refused = await anyone.submit(path, "password.set", password=password, name=name)
        assert (refused.status, set(refused.faults()), refused.filled("password.set")["name"]) == (422, faults, name.strip())
    endless = await anyone.submit(path, "password.set", password=PASSWORD, name="n" * 201)
    assert (endless.status, endless.filled("password.set")["name"]) == (422, "n" * 201)
    done = await anyone.submit(path, "password.set", password=PASSWORD, name=" Nil Kaya ", follow=False)
    assert (done.status, done.headers["Location"]) == (303, "/")
    assert (await anyone.get("/me")).filled("operator.set")["name"] == "Nil Kaya"
    stranger, expired = await site.client(), site.path_of((await site.do("operator.link", email="link@example.com")).link)
    site.clock.advance(25 * 3600)
    pages = [await stranger.get(bad) for bad in (path, "/setup/never-made", expired, "/nowhere")]
    pages += [await stranger.post(bad, {"password": PASSWORD}) for bad in (path, "/setup/never-made", expired)]
    assert {(page.status, page.text) for page in pages} == {(404, pages[0].text)}
    site.clock.advance(-25 * 3600)


async def test_a_second_factor_is_shown_once_and_asked_for_with_a_new_token_at_each_step(site: Site) -> None:
    client = await site.join("second@example.com")
    tokens = cookies(client)
    assert (await client.submit("/me", "totp.enable", password="wrong")).refuses(NOT_RIGHT)
    shown = await client.submit("/me", "totp.enable", password=PASSWORD)
    secret, uri = shown.secrets()
    assert (uri.startswith("otpauth://totp/"), f"secret={secret}&" in uri, qr_code(uri) in shown.body) == (True, True, True)
    assert (await client.get("/shown")).status == 410
    assert (await client.submit("/me", "totp.confirm", code="000000")).refuses("The code is not right, or it was already used.")
    confirmed = await client.submit("/me", "totp.confirm", code=code_of(secret, site.clock))
    codes = confirmed.secrets()
    assert (len(codes), "QR code of the secret" in confirmed.body) == (10, False)
    assert (await client.get("/me")).has("10 recovery codes")
    site.clock.advance(60)

    again = await site.client()
    first = await again.submit("/login?next=/me", "session.create", email="second@example.com", password=PASSWORD, follow=False)
    assert first.headers["Location"] == "/login/code?next=%2Fme"
    tokens += cookies(again)
    assert [await led(again, path) for path in ("/", "/me", "/operators")] == ["/login/code"] * 3
    assert (await again.submit("/login/code", "session.verify", code="nonsense")).status == 422
    done = await again.submit("/login/code?next=/me", "session.verify", code=code_of(secret, site.clock), follow=False)
    assert (done.status, done.headers["Location"], await led(again, "/login/code")) == (303, "/me", "/")
    tokens += cookies(again)
    assert len(set(tokens)) == len(tokens) == 3

    with_code = await site.client()
    await sign_in(with_code, "second@example.com")
    assert (await with_code.submit("/login/code", "session.verify", code=codes[0].upper())).status == 200
    assert (await with_code.get("/me")).has("9 recovery codes")
    waiting = await site.client()
    await sign_in(waiting, "second@example.com")
    site.clock.advance(SECOND_FACTOR_MS / 1000 + 1)
    assert await led(waiting, "/login/code") == "/login?next=%2Flogin%2Fcode"
    assert (await waiting.post("/login/code", {"code": "123456"}, follow=False)).headers["Location"] == "/login"
    assert (await with_code.submit("/me", "totp.disable", password="wrong")).refuses(NOT_RIGHT)
    assert (await with_code.submit("/me", "totp.disable", password=PASSWORD)).has("Off.")


async def test_a_session_someone_else_chose_is_never_taken_over(site: Site) -> None:
    fields, chosen = {"email": site.email("reader"), "password": PASSWORD}, "x" * 43
    answer = await (await site.client()).post("/login", fields, headers={"Cookie": f"chatsvc_session={chosen}"}, follow=False)
    cookie = answer.headers["Set-Cookie"]
    assert chosen not in cookie
    assert re.fullmatch(r"chatsvc_session=[\w-]{43}; HttpOnly; Max-Age=2592000; Path=/; SameSite=Lax", cookie)


async def test_a_changed_password_ends_the_other_sessions_and_each_can_be_revoked(site: Site) -> None:
    client, other = await site.join("many@example.com"), await site.client()
    await sign_in(other, "many@example.com")
    assert (await client.submit("/me", "password.set", current="not this one", password=NEW)).refuses(NOT_RIGHT)
    assert (await client.submit("/me", "password.set", current=PASSWORD, password=NEW)).has("your other sessions have ended")
    assert (await other.get("/me", follow=False)).status == 303
    assert (await sign_in(other, "many@example.com", NEW)).status == 303
    page = await client.get("/me")
    own = next(row.get("data-id") for row in page.tree.iter("tr") if "this one" in text_of(row))
    (others,) = set(page.records()) - {own}
    await client.submit("/me", "session.revoke", where={"id": others})
    assert (await other.get("/me", follow=False)).status == 303
    again = await client.post("/me/sessions", {"id": others})
    assert (again.status, again.alert) == (404, "The link may be old, or the record was deleted.")
    assert (await client.submit("/me", "session.revoke", follow=False)).headers["Location"] == "/login"


async def test_what_an_open_page_reads_by_itself_does_not_keep_a_session_alive(site: Site) -> None:
    client = await site.client("reader")
    for _ in range(3):
        site.clock.advance(IDLE_MS / 1000 / 4)
        assert (await client.get("/waiting")).status == 200
        assert (await client.get("/", headers={"Chatsvc-Refresh": "1"})).status == 200
    assert (await client.get("/inbox")).status == 200
    for seconds, status in ((IDLE_MS / 1000 - 1, 200), (1, 303)):
        site.clock.advance(seconds)
        assert (await client.get("/waiting", follow=False)).status == status


async def test_name_notices_and_language_are_ones_own(site: Site) -> None:
    client = await site.join("own@example.com")
    await client.submit("/me", "operator.set", name="Ada <b>", notice=["waiting", "request"])
    page = await client.get("/me")
    assert page.has("E-mail is not set up on this installation", "Ada <b>")
    (form,) = page.forms("operator.set")
    assert [value for name, value in page.values(form) if name == "notice"] == ["waiting", "request"]
    await client.submit("/me", "operator.set", notice=None)
    (form,) = (await client.get("/me")).forms("operator.set")
    assert not [field for field in form.iter("input") if field.get("checked") is not None]
    refused = await client.post("/me/profile", {"name": "n" * 201, "notice": "request"})
    assert {"name": "n" * 201, "notice": "request"}.items() <= refused.filled("operator.set").items()
    assert (refused.status, (await client.post("/me/profile", {"name": "a\x00b", "notice": "nonsense"})).status) == (422, 422)
    await client.submit("/me", "operator.timezone", timezone="America/New_York")
    assert (await client.get("/conversations")).has("America/New_York")
    assert (await client.submit("/me", "operator.timezone", timezone="Mars")).refuses("“Mars” is not a time zone", kept="Mars")
    await client.submit("/me", "operator.timezone", timezone="")
    assert "America/New_York" not in (await client.get("/conversations")).text
    # Only those who see webhooks are told of them.
    assert "failed webhooks" not in (await client.get("/me")).text
    cannot = "own@example.com cannot be told of failed webhooks: only owners and administrators can."
    assert (await client.post("/me/profile", {"name": "Ada", "notice": "webhook"})).refuses(cannot)
    await site.do("operator.set", email="own@example.com", account=site.mine.account, role="owner")
    assert (await client.get("/me")).has("failed webhooks")
    turkish = await client.submit("/me", "operator.language", language="tr")
    assert (turkish.language, turkish.has("Ayarlarım")) == ("tr", True)
    assert (await client.post("/me/language", {"language": "de"})).refuses("dili yok")


async def test_signing_out_by_address_shows_a_button(site: Site) -> None:
    client = await site.join("out@example.com")
    assert (await client.get("/logout")).forms("session.remove")
    assert (await client.get("/")).status == 200
    await client.submit("/logout", "session.remove")
    assert await led(client, "/logout") == "/login"
    assert (await client.post("/logout", follow=False)).headers["Location"] == "/login"


async def test_secrets_are_shown_to_their_session_alone_and_once(site: Site) -> None:
    client, stranger = await site.join("once@example.com"), await site.client("reader")
    answer = await client.submit("/me", "totp.enable", password=PASSWORD, follow=False)
    cookie = answer.headers["Set-Cookie"].partition(";")[0]

    async def steal(session: str) -> tuple[int, list[str]]:
        theft = await stranger.get("/shown", headers={"Cookie": f"{cookie}; chatsvc_session={session}"})
        return theft.status, theft.secrets()

    assert await steal(cookies(stranger)[0]) == (410, [])
    shown = await client.get("/shown")
    assert (len(shown.secrets()), shown.headers["Cache-Control"]) == (2, "no-store")
    gone = await client.get("/shown")
    assert (gone.status, "This was shown already" in gone.text) == (410, True)
    # Neither does a copy of the cookies.
    assert await steal(cookies(client)[0]) == (410, [])
    await client.submit("/me", "totp.enable", password=PASSWORD, follow=False)
    site.clock.advance(601)
    assert (await client.get("/shown")).status == 410
