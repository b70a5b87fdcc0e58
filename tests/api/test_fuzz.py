"""Anything at all is sent: never a 500, always the JSON of the interface. CHATSVC_FUZZ sets the number of requests, in all."""

import json
import logging
import os
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from yarl import URL

from chatsvc.api import interface
from chatsvc.domain.errors import PROBLEMS
from tests.api.support import LIMIT, REMAINING, RESET, names
from tests.conftest import Answer, Caller
from tests.fakes import FakeClock

COUNT = int(os.environ.get("CHATSVC_FUZZ", "400"))
DETERMINED = "CHATSVC_FUZZ" not in os.environ
ENVELOPE = {"success", "error", "message", "message_en"}


def fuzz(share: float) -> settings:
    """Settings for a share of all requests; in CI always the same ones."""
    return settings(
        max_examples=max(1, int(COUNT * share)),
        deadline=None,
        database=None,
        derandomize=DETERMINED,
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """A service that waits for nobody for long, and a log that is not kept."""
    monkeypatch.setattr(interface, "BODY_TIMEOUT_S", 0.1)
    caplog.set_level(logging.ERROR)


@pytest.fixture
async def known(caller: Caller) -> dict[str, str]:
    """The account's records, for the words in capitals."""
    for user_id in ("a", "b"):
        await caller.send(user_id=user_id)
    page = (await caller.get("/conversations?limit=1")).json
    return {"BOT": caller.bot, "CONVERSATION": page["data"][0]["id"], "CURSOR": page["pagination"]["next_cursor"]}


def check(answer: Answer, *, bodiless: bool = False) -> None:
    """Check the rules for every response of the interface."""
    assert answer.status in {200, 400, 401, 404, 405}, answer.body
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
    assert "X-Request-Id" in answer.headers
    assert {"server"} & set(names(answer)) == set()
    assert 0 <= int(answer.headers[REMAINING]) <= int(answer.headers[LIMIT])
    assert int(answer.headers[RESET]) % 60 == 0
    if bodiless:
        assert answer.body == b""
    elif answer.status == 200:
        assert answer.json.keys() in ({"success", "data"}, {"success", "data", "pagination"})
        assert answer.json["success"] is True
    else:
        problem = PROBLEMS[answer.json["error"]]
        assert answer.json.keys() == ENVELOPE | set(problem.extra)
        assert (answer.json["success"], answer.status) == (False, problem.status)


def _as_sent(caller: Caller, target: str) -> URL:
    return URL(caller.app.url + target, encoded=True)


async def _ask(caller: Caller, clock: FakeClock, method: str, target: str, headers: dict[str, str], body: bytes | None) -> Answer:
    clock.now += 1_000
    async with caller.session.request(method, _as_sent(caller, target), headers=headers, data=body) as response:
        read = await response.read()
        return Answer(response.status, response.headers, read, json.loads(read) if read else None)


# -- bodies -------------------------------------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=[]), max_size=200)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.sampled_from(["chatbot_id", "message", "user_id", "language"])
LIKELY = st.one_of(
    st.fixed_dictionaries(
        {"chatbot_id": st.just("BOT"), "message": TEXT | ANY_JSON}, optional={"user_id": TEXT | ANY_JSON, "language": TEXT}
    ),
    st.dictionaries(FIELDS | TEXT, st.just("BOT") | st.sampled_from(["tr", "en-GB", "hello", "x" * 4001]) | ANY_JSON, max_size=6),
)
BODIES = st.one_of(
    LIKELY.map(lambda value: json.dumps(value).encode()),
    LIKELY.map(lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")),
    ANY_JSON.map(lambda value: json.dumps(value).encode()),
    st.binary(max_size=300),
    st.tuples(LIKELY, st.integers(0, 400), st.binary(max_size=4)).map(
        lambda parts: json.dumps(parts[0]).encode()[: parts[1]] + parts[2] + json.dumps(parts[0]).encode()[parts[1] :]
    ),
    st.tuples(st.sampled_from([b"[", b'{"a":', b'"', b"1", b"\\u0000", b" ", b"-", b"{", b'{"message":[']), st.integers(1, 30_000)).map(
        lambda parts: parts[0] * parts[1]
    ),
)
IDEMPOTENCY = st.none() | st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=260).filter(lambda text: "\x7f" not in text)


@fuzz(0.45)
@given(body=BODIES, idempotency=IDEMPOTENCY, kind=st.sampled_from(["application/json", "text/plain", "x"]))
async def test_any_body_is_answered_in_json(caller: Caller, clock: FakeClock, body: bytes, idempotency: str | None, kind: str) -> None:
    headers = {"Authorization": f"Bearer {caller.key}", "Content-Type": kind}
    if idempotency is not None:
        headers["Idempotency-Key"] = idempotency.encode("latin-1").decode("utf-8", "surrogateescape")
    body = body.replace(b"BOT", caller.bot.encode())
    answer = await _ask(caller, clock, "POST", "/api/v2/messages", headers, body)
    check(answer)
    if answer.status == 200:
        sent = json.loads(body)
        assert answer.json["data"]["message"] == sent["message"]
        assert answer.json["data"]["reply"] == f"echo: {sent['message']}"


# -- queries and paths --------------------------------------------------------------------------------------------------

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=:@/?%[]{}|^`\\\"<>"
ODD = st.one_of(
    st.text(st.sampled_from(LETTERS), max_size=40),
    st.binary(max_size=20).map(quote),
    TEXT.map(lambda text: quote(text, errors="surrogatepass")),
    st.integers().map(str),
    st.sampled_from(["", "%", "%0", "%zz", "%00", "%ff", "%ED%A0%80", "..", ".", "%2e%2e", "%2f", "null", "-1", "1e9", "٣"]).map(
        lambda text: quote(text, safe="%.")
    ),
)
NAMES = st.sampled_from(["limit", "cursor", "chatbot_id", "channel", "message_limit", "days"])
PATHS = st.sampled_from(["/chatbots", "/conversations", "/analytics", "/messages", "/conversations/CONVERSATION", "/chatbots/BOT"])


@fuzz(0.35)
@given(path=PATHS, pairs=st.lists(st.tuples(NAMES | ODD, ODD | st.sampled_from(["BOT", "CURSOR", "api", "CURSORx", "5"])), max_size=5))
async def test_any_query_is_answered_in_json(
    caller: Caller, known: dict[str, str], clock: FakeClock, path: str, pairs: list[tuple[str, str]]
) -> None:
    target = f"/api/v2{path}?" + "&".join(f"{name}={value}" for name, value in pairs)
    for word, value in known.items():
        target = target.replace(word, value)
    answer = await _ask(caller, clock, "GET", target, {"Authorization": f"Bearer {caller.key}"}, None)
    check(answer)
    assert answer.status in {200, 400, 404, 405}
    if "pagination" in (answer.json or {}):
        assert 1 <= answer.json["pagination"]["limit"] <= 100


METHODS = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE", "PROPFIND", "LOCK"])


@fuzz(0.2)
@given(method=METHODS, segments=st.lists(ODD | st.sampled_from(["chatbots", "messages", "conversations", "analytics"]), max_size=4))
async def test_any_path_is_answered_in_json(caller: Caller, clock: FakeClock, method: str, segments: list[str]) -> None:
    target = "/api/v2/" + "/".join(segments)
    answer = await _ask(caller, clock, method, target.replace("?", "%3F"), {"Authorization": f"Bearer {caller.key}"}, None)
    check(answer, bodiless=method == "HEAD")
    assert answer.status in {200, 400, 404, 405}
