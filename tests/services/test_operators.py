"""Operators, sessions, set-up links and second factors through audited operations and a real store."""

import asyncio
import base64
import logging
from contextlib import AsyncExitStack, nullcontext
from itertools import islice
from typing import Any

import pytest
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from chatsvc.app import App
from chatsvc.domain.actors import ANONYMOUS, Caller
from chatsvc.domain.operators import NewSession
from chatsvc.domain.refusals import Refused
from chatsvc.services.accounts import accounts
from chatsvc.services.administration import perform
from chatsvc.services.services import HASHES
from chatsvc.services.team import credentials, sessions
from chatsvc.store import sessions as stored
from tests import conftest
from tests.fakes import ADMIN, FakeClock
from tests.store.inspection import query

EMAIL, PASSWORD, OTHER = "ada@example.com", "violet staple harbour", "another plain sentence"
ADDRESS = "203.0.113.7"


class Team:
    """The dashboard's way to the operations, without its pages."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def do(self, operation: str, caller: Caller = ADMIN, **arguments: Any) -> Any:
        return await perform(self.app.services, caller, operation, arguments)

    async def refusal(self, operation: str, caller: Caller = ADMIN, **arguments: Any) -> str:
        with pytest.raises(Refused) as caught:
            await self.do(operation, caller, **arguments)
        return caught.value.code

    async def token(self, email: str = EMAIL, **options: Any) -> str:
        invitation = await self.do("operator.add", email=email, **(options or {"admin": True}))
        return str(invitation.link).rpartition("/")[2]

    async def join(self, email: str = EMAIL, **options: Any) -> NewSession:
        own, token = {} if "name" in options else {"name": "Ada L."}, await self.token(email, **options)
        session: NewSession = await self.do("password.set", ANONYMOUS, token=token, password=PASSWORD, **own)
        return session

    async def sign_in(self, email: str = EMAIL, password: str = PASSWORD, address: str = ADDRESS) -> NewSession:
        session: NewSession = await self.do("session.create", ANONYMOUS, email=email, password=password, address=address, browser="Firefox")
        return session

    async def caller(self, session: NewSession | str) -> Caller | None:
        signed_in = await sessions.find(self.app.services, session if isinstance(session, str) else session.token)
        return sessions.caller_of(signed_in) if signed_in else None

    async def acting(self, session: NewSession) -> Caller:
        caller = await self.caller(session)
        assert caller
        return caller


@pytest.fixture
def team(app: App) -> Team:
    return Team(app)


def code_of(secret: str, clock: FakeClock, steps: int = 0) -> str:
    return TOTP(base64.b32decode(secret), 6, SHA1(), 30).generate(clock() // 1000 + steps * 30).decode()  # noqa: S303


async def with_second_factor(team: Team, clock: FakeClock) -> tuple[str, list[str]]:
    caller = await team.acting(await team.join())
    offered = await team.do("totp.enable", caller, password=PASSWORD)
    codes = await team.do("totp.confirm", caller, code=code_of(offered.secret, clock))
    clock.advance(60)
    return offered.secret, codes


async def test_a_set_up_link_works_once_for_a_day_and_ends_what_was_before(team: Team, clock: FakeClock) -> None:
    token = await team.token()
    services = team.app.services
    link = await sessions.find_link(services, token)
    operator = link.operator if link else None
    assert operator
    assert (operator.email, operator.is_set_up) == (EMAIL, False)
    assert await team.refusal("session.create", ANONYMOUS, email=EMAIL, password=PASSWORD) == "sign_in_failed"
    first = await team.do("password.set", ANONYMOUS, token=token, name="Ada L.", password=PASSWORD)
    assert (await team.acting(first)).scope.roles is None
    assert await team.refusal("password.set", ANONYMOUS, token=token, password=OTHER) == "link_invalid"
    assert await sessions.find_link(services, token) is None
    earlier, later = [str((await team.do("operator.link", email=EMAIL)).link).rpartition("/")[2] for _ in range(2)]
    assert await sessions.find_link(services, earlier) is None
    # Nothing ends before the link is used.
    assert await team.caller(first)
    clock.advance(24 * 3600)
    assert await team.refusal("password.set", ANONYMOUS, token=later, password=OTHER) == "link_invalid"


async def test_the_use_of_a_link_ends_all_sessions_and_the_second_factor(team: Team, clock: FakeClock) -> None:
    _, codes = await with_second_factor(team, clock)
    waiting = await team.sign_in()
    link = (await team.do("operator.link", email=EMAIL)).link
    new = await team.do("password.set", ANONYMOUS, token=link.rpartition("/")[2], password=OTHER)
    assert (await team.caller(waiting), new.operator.name) == (None, "Ada L.")
    assert [session.id for session in await team.do("operator.sessions", email=EMAIL)] == [new.session.id]
    assert (await team.sign_in(password=OTHER)).session.verified
    assert await stored.recovery_codes_left(team.app.services.db, new.operator.id) == 0
    assert codes
    assert await team.refusal("session.create", ANONYMOUS, email=EMAIL, password=PASSWORD) == "sign_in_failed"


async def test_a_refused_set_up_leaves_the_link_as_it_was(team: Team) -> None:
    token = await team.token()
    for name, password, code in (
        ("Ada L.", "short", "password_too_short"),
        ("Ada L.", "x7" * 129, "password_too_long"),
        ("Ada L.", "Password1234!", "password_common"),
        ("Ada L.", "ADA@example.com", "password_is_email"),
        ("Ada L.", "nul \0 in the middle", "text_invalid"),
        ("   ", PASSWORD, "text_empty"),
    ):
        assert await team.refusal("password.set", ANONYMOUS, token=token, name=name, password=password) == code
        assert await sessions.find_link(team.app.services, token)


async def test_no_name_can_be_blank(team: Team) -> None:
    await team.join(admin=True, name="Ada L.")
    account = (await team.do("account.create", name="Towels")).account.id
    bot = (await team.do("bot.create", account=account, name="Front desk")).id
    named: dict[str, dict[str, Any]] = {
        "operator.set": {"email": EMAIL},
        "operator.add": {"email": "bob@example.com", "admin": True},
        "account.create": {},
    }
    named |= {"bot.create": {"account": account}, "bot.set": {"bot": bot}, "key.create": {"account": account}}
    for operation, arguments in named.items():
        assert await team.refusal(operation, **arguments, name="\u3164") == "text_empty", operation
    assert [operator.name for operator in (await team.do("operator.list")).items] == ["Ada L."]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        *(("", "text_empty"), (" \n ", "text_empty"), ("\u3164", "text_empty"), ("\u2800 \ufe0f", "text_empty")),
        *(("\u200b", "text_unprintable"), ("x" * 201, "text_too_long")),
        *((name, None) for name in ("Ada", "9", "\u0915\u093f", "\U0001f980", "No\u00ebl \u2764\ufe0f", "-")),
    ],
)
def test_a_name_has_a_visible_character(name: str, code: str | None) -> None:
    with pytest.raises(Refused, match=code) if code else nullcontext():
        assert accounts.plain_text(name, "name") == name


async def test_a_password_may_be_typed_on_any_keyboard(team: Team) -> None:
    token = await team.token()
    await team.do("password.set", ANONYMOUS, token=token, name="Ada L.", password="café und söhne")
    assert await team.sign_in(password="cafe\u0301 und so\u0308hne")


async def test_a_session_ends_after_12_hours_idle_and_30_days_in_all(team: Team, clock: FakeClock) -> None:
    await team.join()
    idle, used = await team.sign_in(), await team.sign_in()
    clock.advance(12 * 3600 - 1)
    assert await team.caller(used)
    clock.advance(1)
    assert await team.caller(idle) is None
    for _ in range(59):
        clock.advance(12 * 3600 - 60)
        assert await team.caller(used)
    clock.advance(12 * 3600 - 60)
    assert await team.caller(used) is None
    assert await team.do("operator.sessions", email=EMAIL) == []


async def test_sessions_are_listed_and_revoked_by_their_operator_alone(team: Team) -> None:
    await team.join()
    await team.join("eve@example.com")
    first, two = await team.sign_in(), await team.sign_in(address="2001:db8::1")
    eve, caller = await team.acting(await team.sign_in("eve@example.com")), await team.acting(first)
    shown = {session.id: session for session in await team.do("session.list", caller)}
    assert shown.keys() > {first.session.id, two.session.id}
    assert (shown[two.session.id].address, shown[two.session.id].browser) == ("2001:db8::1", "Firefox")
    assert await team.refusal("session.revoke", eve, session=two.session.id) == "session_not_found"
    await team.do("session.revoke", caller, session=two.session.id)
    assert await team.caller(two) is None
    await team.do("session.remove", caller)
    assert await team.caller(first) is None
    assert await team.refusal("session.list", caller) == "session_needed"


async def test_a_changed_role_narrows_sessions_at_once(team: Team, caller: conftest.Caller) -> None:
    session = await team.join(account=caller.account, role="editor")
    editor = await team.acting(session)
    await team.do("bot.set", editor, bot=caller.bot, greeting="Hi")
    await team.do("operator.set", email=EMAIL, account=caller.account, role="reader")
    assert await team.refusal("bot.set", await team.acting(session), bot=caller.bot, greeting="Ho") == "forbidden"
    await team.do("operator.set", email=EMAIL, account=caller.account, role="none")
    assert (await team.acting(session)).scope.roles == {}
    await team.do("operator.set", email=EMAIL, account=caller.account, role="owner")
    await team.do("account.delete", account=caller.account)
    assert (await team.acting(session)).scope.roles == {}
    await team.do("operator.remove", email=EMAIL)
    assert await team.caller(session) is None


async def test_the_last_administrator_stays(team: Team) -> None:
    await team.join()
    assert await team.refusal("operator.remove", email=EMAIL) == "last_administrator"
    assert await team.refusal("operator.set", email=EMAIL, admin=False) == "last_administrator"
    assert (await team.sign_in()).operator.admin
    await team.token("eve@example.com")
    results = await asyncio.gather(
        *(team.do("operator.remove", email=email) for email in (EMAIL, "eve@example.com")), return_exceptions=True
    )
    assert [getattr(result, "code", None) for result in results].count("last_administrator") == 1


async def test_an_owner_manages_the_operators_of_his_account_only(team: Team, make_caller: conftest.MakeCaller) -> None:
    mine, other = await make_caller(), await make_caller()
    owner = await team.acting(await team.join("owner@example.com", account=mine.account, role="owner"))
    await team.token()
    for email, account in (("mine@example.com", mine), ("both@example.com", mine), ("other@example.com", other)):
        await team.token(email, account=account.account, role="reader")
    await team.do("operator.set", email="both@example.com", account=other.account, role="editor")
    assert {operator.email for operator in (await team.do("operator.list", owner)).items} == {
        "owner@example.com",
        "mine@example.com",
        "both@example.com",
    }
    both = next(operator for operator in (await team.do("operator.list", owner)).items if operator.email == "both@example.com")
    assert both.roles.keys() == {mine.account}
    for operation in ("operator.link", "operator.remove", "operator.sessions"):
        assert await team.refusal(operation, owner, email="other@example.com") == "operator_not_found"
        assert await team.refusal(operation, owner, email=EMAIL) == "operator_not_found"
        # A link would open the other account too.
        assert await team.refusal(operation, owner, email="both@example.com") == "operator_shared"
    assert await team.refusal("operator.set", owner, email="both@example.com", name="x") == "operator_shared"
    assert await team.refusal("operator.set", owner, email="mine@example.com", admin=True) == "forbidden"
    assert await team.refusal("operator.add", owner, email="new@example.com", admin=True) == "forbidden"
    assert await team.refusal("operator.set", owner, email="mine@example.com", account=other.account, role="owner") == "account_not_found"
    assert (await team.do("operator.set", owner, email="both@example.com", account=mine.account, role="none")).roles == {}
    assert (await team.do("operator.link", owner, email="mine@example.com")).link
    # An address is not proven: whoever added it first has chosen the password.
    for email in ("other@example.com", EMAIL):
        assert await team.refusal("operator.add", owner, email=email, role="editor") == "operator_shared"
    assert await team.refusal("operator.add", owner, email="mine@example.com", role="owner") == "operator_exists"
    assert await team.refusal("operator.link", owner, email="owner@example.com") == "link_for_oneself"


async def test_a_reader_sets_own_language_and_notices_and_nothing_else(team: Team, caller: conftest.Caller) -> None:
    reader = await team.acting(await team.join(account=caller.account, role="reader"))
    await team.token("eve@example.com", account=caller.account, role="reader")
    changed = await team.do("operator.set", reader, email=EMAIL, notices=["request", "waiting"], name="Ada")
    assert (changed.notices, changed.name) == (("waiting", "request"), "Ada")
    assert await team.refusal("operator.set", reader, email=EMAIL, notices=["webhook"]) == "notice_for_owners"
    assert (await team.do("operator.language", reader, language="tr")).language == "tr"
    assert await team.refusal("operator.language", reader, language="de") == "operator_language_unknown"
    assert await team.refusal("operator.set", reader, email="eve@example.com", name="x") == "operator_not_found"
    assert await team.refusal("operator.set", reader, email=EMAIL, account=caller.account, role="owner") == "forbidden"
    assert await team.refusal("operator.set", reader, email=EMAIL, admin=True) == "forbidden"


async def test_a_second_factor_takes_each_code_once(team: Team, clock: FakeClock) -> None:
    secret, codes = await with_second_factor(team, clock)
    waiting = await team.sign_in()
    half = await team.acting(waiting)
    assert half.scope.roles == {}
    for operation in ("totp.enable", "session.list", "operator.language"):
        given = {"operator.language": {"language": "tr"}, "totp.enable": {"password": PASSWORD}}.get(operation, {})
        assert await team.refusal(operation, half, **given) == "session_needed"
    assert await team.refusal("session.verify", half, code="000 000") == "code_wrong"
    right = code_of(secret, clock, -1)
    inside = await team.do("session.verify", half, code=f"{right[:3]} {right[3:]}")
    assert inside.token != waiting.token
    assert await team.caller(waiting) is None
    assert (await team.acting(inside)).scope.roles is None
    assert await team.refusal("session.verify", await team.acting(await team.sign_in()), code=right) == "code_wrong"
    assert (await team.do("session.verify", await team.acting(await team.sign_in()), code=codes[3].upper())).session.verified
    assert await team.refusal("session.verify", await team.acting(await team.sign_in()), code=codes[3]) == "code_wrong"
    assert len(set(codes)) == 10
    assert await stored.recovery_codes_left(team.app.services.db, inside.operator.id) == 9


async def test_a_second_factor_is_confirmed_before_it_counts_and_ends_with_the_password(team: Team, clock: FakeClock) -> None:
    session = await team.join()
    caller = await team.acting(session)
    assert await team.refusal("totp.confirm", caller, code="000000") == "second_factor_off"
    assert await team.refusal("totp.disable", caller, password=PASSWORD) == "second_factor_off"
    assert await team.refusal("totp.enable", caller, password=OTHER) == "password_wrong"
    offered = await team.do("totp.enable", caller, password=PASSWORD)
    assert f"secret={offered.secret}&issuer=chatsvc" in offered.uri
    assert (await team.sign_in()).session.verified
    wrong = code_of(offered.secret, clock, 9)
    assert await team.refusal("totp.confirm", caller, code=wrong) == "code_wrong"
    await team.do("totp.confirm", caller, code=code_of(offered.secret, clock))
    assert not (await team.sign_in()).session.verified
    assert await team.refusal("totp.enable", caller, password=PASSWORD) == "second_factor_on"
    assert await team.refusal("totp.disable", caller, password="wrong") == "password_wrong"
    await team.do("totp.disable", caller, password=PASSWORD)
    assert (await team.sign_in()).session.verified


async def test_a_new_master_key_keeps_second_factors(team: Team, clock: FakeClock) -> None:
    secret, _ = await with_second_factor(team, clock)
    rotated = await team.do("master_key.rotate")
    assert (rotated.resealed, rotated.unusable) == (1, 0)
    half = await team.acting(await team.sign_in())
    assert (await team.do("session.verify", half, code=code_of(secret, clock))).session.verified


async def test_attempts_at_the_same_time_are_counted_before_they_are_verified(team: Team) -> None:
    await team.join()
    tried = [team.refusal("session.create", ANONYMOUS, email=EMAIL, password="wrong", address=f"198.51.100.{n}") for n in range(20)]
    results = await asyncio.gather(*tried)
    assert (results.count("sign_in_failed"), results.count("too_many_attempts")) == (5, 15)


async def test_wrong_codes_are_delayed_like_wrong_passwords(team: Team, clock: FakeClock) -> None:
    await with_second_factor(team, clock)
    half = await team.acting(await team.sign_in())
    refusals = [await team.refusal("session.verify", half, code="000000", address=ADDRESS) for _ in range(6)]
    assert refusals == ["code_wrong"] * 5 + ["too_many_attempts"]


async def test_an_unknown_operator_costs_the_same_work(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts verifications of a hash with the usual parameters, which take all the time."""
    await team.join()
    await team.token("invited@example.com")
    verified: list[str] = []
    real = credentials._verified

    def counted(password: str, phc: str) -> bool:
        verified.append(phc)
        return real(password, phc)

    monkeypatch.setattr(credentials, "_verified", counted)
    for email in (EMAIL, "nobody@example.com", "invited@example.com", "no address"):
        assert await team.refusal("session.create", ANONYMOUS, email=email, password="wrong") == "sign_in_failed"
    assert len(verified) == 4
    assert {phc.rsplit("$", 2)[0] for phc in verified} == {"$argon2id$v=19$m=19456,t=2,p=1"}


async def test_a_queue_of_passwords_is_bounded(team: Team) -> None:
    await team.join()
    many = [
        asyncio.create_task(team.refusal("session.create", ANONYMOUS, email=f"a{n}@example.com", password="x", address=f"198.51.{n}.1"))
        for n in range(60)
    ]
    # None is verified before all have come.
    async with AsyncExitStack() as busy:
        for _ in range(HASHES):
            await busy.enter_async_context(team.app.services.hashing.slot(""))
        waiting = credentials.MOST_WAITING - HASHES
        for refused in islice(asyncio.as_completed(many), 60 - waiting):
            assert await refused == "too_many_attempts"
    results = await asyncio.gather(*many)
    assert results.count("sign_in_failed") == waiting
    # Those for whom there was no turn have not failed.
    assert await team.refusal("session.create", ANONYMOUS, email="a59@example.com", password="x", address="198.51.59.1") == "sign_in_failed"


async def test_secrets_stay_out_of_the_store_the_log_and_the_audit_log(
    team: Team, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    token = await team.token()
    session = await team.do("password.set", ANONYMOUS, token=token, name="Ada L.", password=PASSWORD)
    caller = await team.acting(session)
    offered = await team.do("totp.enable", caller, password=PASSWORD)
    codes = await team.do("totp.confirm", caller, code=code_of(offered.secret, clock))
    wrong = "the wrong password of Ada"
    await team.refusal("session.create", ANONYMOUS, email=wrong, password=wrong, address=ADDRESS)
    await team.refusal("password.set", caller, current=wrong, password=OTHER)
    signed_in = await team.sign_in()
    secrets = [token, session.token, signed_in.token, PASSWORD, OTHER, wrong, offered.secret, *codes]
    database = team.app.config.data_dir / "chatsvc.db"
    tables = ("operators", "operator_links", "operator_sessions", "recovery_codes", "audit_records")
    held = "".join(repr(query(database, f"SELECT * FROM {table}")) for table in tables)  # noqa: S608  # fixed names
    assert session.operator.id in held
    assert ADDRESS in caplog.text
    for secret in secrets:
        assert secret not in held
        assert secret not in caplog.text


async def test_the_audit_log_names_the_operator(team: Team, caller: conftest.Caller) -> None:
    session = await team.join(account=caller.account, role="owner", name="Ada L.")
    owner = await team.acting(session)
    await team.do("bot.set", owner, bot=caller.bot, name="Ada's")
    signed_in = await team.sign_in()
    await team.do("session.remove", await team.acting(signed_in))
    records = (await team.do("audit")).items
    assert [(record.operation, record.actor.name, record.via, record.outcome) for record in records[:5]] == [
        ("session.remove", "Ada L.", "web", "done"),
        ("session.create", "Ada L.", "web", "done"),
        ("bot.set", "Ada L.", "web", "done"),
        ("password.set", "Ada L.", "web", "done"),
        ("operator.add", "root", "cli", "done"),
    ]
    assert records[0].ids == {"session": signed_in.session.id}
    assert records[4].ids == {"account": caller.account, "operator": session.operator.id}
