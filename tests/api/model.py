"""The service as SPEC.md and DECISIONS.md section 1 describe it: a few dictionaries, no HTTP, no store, no concurrency.

Written from the pages, not from the code; where neither page says a word, the line says whose choice it is. What the service
makes up itself (ids, cursors) is an `Unknown` here: the first value seen is taken over and has to stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

MINUTE = 60_000
DAY = 24 * 60 * MINUTE
ISTANBUL = 3 * 60 * MINUTE  # what the bots' clocks are ahead of UTC
CAPTURES_A_DAY = 5  # the product's own bound, for each conversation and each day of its bot
ENDPOINTS = ["GET /chatbots", "GET /chatbots/{id}", "POST /messages", "GET /conversations", "GET /conversations/{id}", "GET /analytics"]
STATUS = {
    400: "invalid_json missing_chatbot_id missing_message message_too_long invalid_cursor cursor_out_of_range",
    401: "missing_api_key invalid_api_key account_not_found",
    402: "message_quota_exceeded",
    403: "plan_required plan_upgrade_required",
    404: "chatbot_not_found conversation_not_found unknown_endpoint",
    405: "method_not_allowed",
    409: "chatbot_inactive",
    429: "rate_limit_exceeded",
    502: "assistant_unavailable assistant_empty_reply",
}
STATUS_OF = {code: status for status, codes in STATUS.items() for code in codes.split()}
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
Json = dict[str, Any]
Slot = tuple[int, int, int]


class Unknown:
    """Placeholder for a value that the service chooses. It equals the first one that `fits`, and only that one afterwards."""

    def __init__(self, fits: Callable[[str], bool]) -> None:
        self._fits = fits
        self.value: str | None = None

    def __eq__(self, other: object) -> bool:
        if self.value is None and isinstance(other, str) and self._fits(other):
            self.value = other
        return self.value is not None and self.value == other

    __hash__ = None  # type: ignore[assignment]  # what is not known yet cannot be looked up

    def __repr__(self) -> str:
        return f"Unknown({self.value!r})"


@dataclass(frozen=True)
class Plan:
    """A plan of the configuration."""

    version: int
    messages: int
    bots: int
    rest_api: bool


@dataclass
class Rules:
    """The numbers of the pages, smaller where a test would never get that far. `plans`: lowest first."""

    plans: dict[str, Plan]
    rate: int
    depth: int
    row_cap: int


@dataclass
class Account:
    """An account; `used` by month."""

    id: str
    name: str
    plan: str | None
    limit: int
    status: str = "active"
    credits: int = 0
    used: dict[str, int] = field(default_factory=dict)
    reserved: list[str] = field(default_factory=list)
    bots: list[Bot] = field(default_factory=list)
    conversations: list[Conversation] = field(default_factory=list)
    usage: list[tuple[int, int, Bot, int, int]] = field(default_factory=list)
    answered: dict[str, tuple[tuple[str | None, ...], Json, int]] = field(default_factory=dict)
    gone: bool = False


@dataclass
class Key:
    """An API key, never shown to the model's account once that is gone."""

    text: str
    id: str
    account: Account
    expires: int | None
    revoked: bool = False


@dataclass
class Bot:
    """A chatbot."""

    id: str
    account: Account
    name: str
    created: int
    updated: int
    active: bool = True
    used: int = 0
    requests: list[Json] = field(default_factory=list)
    appointments: list[Json] = field(default_factory=list)


@dataclass
class Conversation:
    """A conversation; `place` is its number among all that were ever opened."""

    id: Unknown
    place: int
    bot: Bot
    user_id: str
    created: int
    last: int
    visitor_name: str | None = None
    visitor_email: str | None = None
    messages: list[Json] = field(default_factory=list)
    captured: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Capture:
    """Contact data captured by the engine. The day of an appointment counts from now, at 10:30."""

    name: str | None
    email: str | None
    phone: str | None
    in_days: int | None


@dataclass(frozen=True)
class Outcome:
    """The engine's result. `reason` is an error's; else `reply`, tokens, cost in micro-dollars and perhaps a capture."""

    reason: str | None = None
    reply: str = ""
    tokens: int = 0
    cost: int = 0
    capture: Capture | None = None


@dataclass
class Expected:
    """An answer as it has to be, without the two sentences of an error."""

    status: int
    body: Json
    slot: Slot
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Pending:
    """An accepted message that is being answered. `phone` is the visitor's, as it is stored."""

    account: Account
    bot: Bot
    fields: tuple[str | None, ...]
    accepted: int
    slot: Slot
    key: str | None


@dataclass(frozen=True)
class Request:
    """A request: `path` below base_url, `body` what is sent as JSON, or the text itself."""

    method: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    body: Json | str | None = None
    idempotency: str | None = None


class _Refused(Exception):
    def __init__(self, code: str, **extra: object) -> None:
        super().__init__(code)
        self.code, self.extra = code, extra


class Model:
    """All of it."""

    def __init__(self, rules: Rules, now: int) -> None:
        self.rules = rules
        self.now = now
        self.accounts: list[Account] = []
        self.keys: dict[str, Key] = {}
        self.cursors: dict[str, tuple[tuple[str | None, ...], tuple[int, int], int]] = {}
        self.flights: dict[tuple[str, str], Pending] = {}
        self._minute: int | None = None
        self._taken: dict[str, int] = {}
        self._ids: set[str] = set()
        self._places = 0

    # -- the administrator ------------------------------------------------------------------------------------------

    def add_account(self, account_id: str, name: str, plan: str | None) -> Account:
        """A new account has its plan's allowance."""
        made = Account(account_id, name, plan, self.rules.plans[plan].messages if plan else 0)
        self.accounts.append(made)
        return made

    def change_account(
        self,
        account: Account,
        *,
        plan: str | None = None,
        status: str | None = None,
        messages_limit: int | None = None,
        credits: int | None = None,
    ) -> None:
        """A plan ("none" for none) brings its limit, which a limit of its own outdoes."""
        if plan is not None:
            account.plan = None if plan == "none" else plan
            account.limit = self.rules.plans[plan].messages if account.plan else 0
        account.status = account.status if status is None else status
        account.limit = account.limit if messages_limit is None else messages_limit
        account.credits = account.credits if credits is None else credits

    def delete_account(self, account: Account) -> None:
        """Everything goes but the keys, which go on to say that the account has gone."""
        account.gone = True
        self.accounts.remove(account)

    def may_have_another_bot(self, account: Account) -> bool:
        """Whether the plan has room."""
        return account.plan is not None and len(account.bots) < self.rules.plans[account.plan].bots

    def add_bot(self, account: Account, bot_id: str, name: str) -> None:
        """A new bot is active."""
        account.bots.append(Bot(bot_id, account, name, self.now, self.now))

    def change_bot(self, bot: Bot, *, name: str | None = None, active: bool | None = None) -> None:
        """Any change is an update."""
        bot.name = bot.name if name is None else name
        bot.active = bot.active if active is None else active
        bot.updated = self.now

    def add_key(self, account: Account, key_id: str, text: str, expires: int | None) -> None:
        """A new key."""
        self.keys[text] = Key(text, key_id, account, expires)

    def restarted(self) -> None:
        """All is as it was; only the rate is counted in memory."""
        self._minute = None
        self._taken = {}

    # -- one request ------------------------------------------------------------------------------------------------

    def receive(self, request: Request, key_text: str | None) -> Expected | Pending:
        """The gates in the order of SPEC.md 5.5, then the operation. A Pending waits for what the engine does; see `finish`."""
        self._turn()
        key = self.keys.get(key_text) if key_text is not None else None
        slot = self._slot(key)
        try:
            account = self._gates(key_text, key)
            slot = self._slot(key)
            done = self._route(account, request, slot)
        except _Refused as refusal:
            return self._error(refusal, slot)
        return done if isinstance(done, Pending) else Expected(200, {"success": True, **done}, slot)

    def _turn(self) -> None:
        # Windows begin on the minute of the clock. A clock set back by less than a minute's window is not believed (the product's choice).
        minute = self.now // MINUTE
        if self._minute is None or minute > self._minute or minute < self._minute - 1:
            self._minute, self._taken = minute, {}

    def standing(self, key_text: str) -> Slot:
        """The values of the three rate-limit headers of a key now."""
        return self._slot(self.keys.get(key_text))

    def _slot(self, key: Key | None) -> Slot:
        assert self._minute is not None
        return self.rules.rate, self.rules.rate - (self._taken.get(key.id, 0) if key else 0), (self._minute + 1) * 60

    def _gates(self, text: str | None, key: Key | None) -> Account:
        if text is None:
            raise _Refused("missing_api_key")
        if key is None or key.revoked or (key.expires is not None and key.expires <= self.now):
            raise _Refused("invalid_api_key")
        account = key.account
        if account.gone:
            raise _Refused("account_not_found")
        plan = self.rules.plans[account.plan] if account.plan else None
        if plan is None or not plan.rest_api:
            lowest = next(name for name, each in self.rules.plans.items() if each.rest_api)
            code = "plan_upgrade_required" if plan else "plan_required"
            raise _Refused(code, required_plan=lowest, feature="rest_api", plan=account.plan)
        taken = self._taken.get(key.id, 0)
        if taken >= self.rules.rate:
            raise _Refused("rate_limit_exceeded", limit=self.rules.rate, window_seconds=60)
        self._taken[key.id] = taken + 1
        return account

    def _error(self, refusal: _Refused, slot: Slot) -> Expected:
        status, headers = STATUS_OF[refusal.code], {}
        if status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        if status == 405:
            headers["Allow"] = ", ".join(refusal.extra["allow"])  # type: ignore[arg-type]  # a list of names
        if status == 429:
            headers["Retry-After"] = str(max(1, slot[2] - self.now // 1000))
        return Expected(status, {"success": False, "error": refusal.code, **refusal.extra}, slot, headers)

    def _route(self, account: Account, request: Request, slot: Slot) -> Json | Pending:
        head, _, record = request.path[1:].partition("/")
        shape = f"/{head}/{{id}}" if record and "/" not in record else request.path
        allowed = [endpoint.split(" ")[0] for endpoint in ENDPOINTS if endpoint.split(" ")[1] == shape]
        if not allowed:
            raise _Refused("unknown_endpoint", method=request.method, path=f"/api/v2{request.path}", supported_endpoints=ENDPOINTS)
        if request.method not in allowed:
            raise _Refused("method_not_allowed", allow=allowed)
        match shape:
            case "/messages":
                return self._message(account, request, slot)
            case "/chatbots":
                return self._chatbots(account, request.query)
            case "/chatbots/{id}":
                return {"data": _chatbot(self._bot(account, record))}
            case "/conversations":
                return self._conversations(account, request.query)
            case "/conversations/{id}":
                return {"data": self._conversation(account, record, request.query)}
            case _:
                return {"data": self.analytics(account, _count(request.query, "days", 30, 90))}

    def _bot(self, account: Account, bot_id: str) -> Bot:
        for bot in account.bots:
            if bot.id == bot_id:
                return bot
        raise _Refused("chatbot_not_found")

    # -- messages ---------------------------------------------------------------------------------------------------

    def _message(self, account: Account, request: Request, slot: Slot) -> Json | Pending:
        fields = _fields(request.body)
        key = request.idempotency
        if key is not None:
            before = self._under(key, account, fields)
            if before is not None:
                return before
        bot = self._bot(account, str(fields[0]))
        if not bot.active:
            raise _Refused("chatbot_inactive", chatbot_id=bot.id)
        if account.status not in {"active", "trialing"}:
            raise _Refused("message_quota_exceeded", reason="subscription_inactive")
        month = f"{_at(self.now):%Y-%m}"
        if not self._left(account, month):
            raise _Refused("message_quota_exceeded", reason="allowance_exhausted")
        account.reserved.append(month)
        pending = Pending(account, bot, fields, self.now, slot, key)
        if key is not None:
            self.flights[account.id, key] = pending
        return pending

    def _under(self, key: str, account: Account, fields: tuple[str | None, ...]) -> Json | Pending | None:
        """The result kept for an Idempotency-Key of the last 24 hours: the message in flight, or the first answer."""
        if not re.fullmatch(r"[!-~]{1,255}", key):
            raise _Refused("invalid_json")
        under_way, answered = self.flights.get((account.id, key)), account.answered.get(key)
        if under_way is not None:
            first = under_way.fields
        elif answered is not None and answered[2] > self.now - DAY:
            first = answered[0]
        else:
            return None
        if first != fields:
            raise _Refused("invalid_json")
        return under_way or (answered and {"data": answered[1]})

    @staticmethod
    def _left(account: Account, month: str) -> bool:
        """Whether one more could be paid if all that are being answered were paid first: from the month's allowance, then with credits."""
        used, credits = dict(account.used), account.credits
        for each in [*account.reserved, month]:
            used[each] = used.get(each, 0) + 1
            credits -= used[each] > account.limit
        return used[month] <= account.limit or credits >= 0

    def finish(self, pending: Pending, outcome: Outcome, user_id: str | None) -> Expected:
        """The engine has finished. `user_id` is the one that the service made where none was sent."""
        account, bot = pending.account, pending.bot
        month = f"{_at(pending.accepted):%Y-%m}"
        account.reserved.remove(month)
        if pending.key is not None:
            del self.flights[account.id, pending.key]
        try:
            if outcome.reason in {"empty", "truncated"}:
                raise _Refused("assistant_empty_reply", reason=outcome.reason)
            if outcome.reason is not None:
                raise _Refused("assistant_unavailable", reason=outcome.reason)
            if account.gone:
                raise _Refused("account_not_found")
        except _Refused as refusal:
            return self._error(refusal, pending.slot)
        account.used[month] = account.used.get(month, 0) + 1
        if account.used[month] > account.limit and account.credits:
            account.credits -= 1
        bot.used += 1
        account.usage.append((pending.accepted, len(account.usage), bot, outcome.tokens, outcome.cost))
        user = pending.fields[2] or user_id or ""
        conversation = self._written(pending, outcome, user)
        if outcome.capture is not None:
            self._captured(conversation, outcome.capture, pending)
        data = {
            "chatbot_id": bot.id,
            "user_id": user,
            "session_id": f"api:{user}",
            "channel": "api",
            "message": pending.fields[1],
            "reply": outcome.reply,
            "created_at": _millis(self.now),
        }
        if pending.key is not None:
            # What was answered more than a day ago is forgotten now, and stays forgotten when the clock goes back.
            for each in self.accounts:
                each.answered = {key: kept for key, kept in each.answered.items() if kept[2] > pending.accepted - DAY}
            account.answered[pending.key] = (pending.fields, data, pending.accepted)
        return Expected(200, {"success": True, "data": data}, pending.slot)

    def _written(self, pending: Pending, outcome: Outcome, user: str) -> Conversation:
        found = [c for c in pending.account.conversations if c.bot is pending.bot and c.user_id == user]
        if not found:
            self._places += 1
            found = [Conversation(self._uuid(), self._places, pending.bot, user, pending.accepted, self.now)]
            pending.account.conversations += found
        conversation = found[0]
        # The product's choice: a clock that goes back takes no conversation back in the list.
        conversation.last = max(conversation.last, self.now)
        for role, content, at in (("user", pending.fields[1], pending.accepted), ("assistant", outcome.reply, self.now)):
            conversation.messages.append({"id": self._uuid(), "role": role, "content": content, "created_at": _millis(at)})
        return conversation

    def _captured(self, conversation: Conversation, capture: Capture, pending: Pending) -> None:
        local = pending.accepted + ISTANBUL
        if sum(at >= local - local % DAY - ISTANBUL for at in conversation.captured) >= CAPTURES_A_DAY:
            return
        conversation.captured.append(pending.accepted)
        said = " ".join(message["content"] for message in conversation.messages if message["role"] == "user")
        name, email, phone = (text if text and text in said else None for text in (capture.name, capture.email, capture.phone))
        request = {
            "id": self._uuid(),
            "request_type": "appointment",
            "status": "new",
            "message": str(pending.fields[1]).strip(),
            "visitor_name": name,
            "visitor_email": email,
            "visitor_phone": f"+90{phone[1:].replace(' ', '')}" if phone else None,
            "source_page_host": "",
            "created_at": _millis(pending.accepted),
        }
        conversation.visitor_name = name or conversation.visitor_name
        conversation.visitor_email = email or conversation.visitor_email
        pending.bot.requests.insert(0, request)
        if capture.in_days is None or capture.in_days < 1:
            return
        day = _at(local + capture.in_days * DAY)
        of_request = {name: request[name] for name in ("message", "visitor_name", "visitor_email", "visitor_phone", "source_page_host")}
        appointment = {
            "id": self._uuid(),
            "request_id": request["id"],
            "status": "pending",
            **of_request,
            "appointment_date": f"{day:%Y-%m-%d}",
            "appointment_time": "10:30",
            "appointment_at": f"{day:%Y-%m-%d}T07:30:00.000Z",
            "created_at": _millis(pending.accepted),
        }
        pending.bot.appointments.insert(0, appointment)

    def _uuid(self) -> Unknown:
        def fits(text: str) -> bool:
            new = UUID.fullmatch(text) is not None and text not in self._ids
            self._ids.add(text)
            return new

        return Unknown(fits)

    # -- lists ------------------------------------------------------------------------------------------------------

    def _page(self, rows: list[tuple[tuple[int, int], Json]], query: dict[str, str], walk: tuple[str | None, ...]) -> Json:
        """A page of all matching `rows`, each with its place. A cursor points behind the last row of its page."""
        limit = _count(query, "limit", 20, 100)
        rows = sorted(rows, key=lambda row: row[0], reverse=True)
        depth, rest = 0, rows
        if "cursor" in query:
            known = self.cursors.get(query["cursor"])
            if known is None or known[0] != walk:
                raise _Refused("invalid_cursor")
            _, behind, depth = known
            if depth >= self.rules.depth:
                raise _Refused("cursor_out_of_range", max_offset=self.rules.depth)
            rest = [row for row in rows if row[0] < behind]
        shown, more = rest[:limit], len(rest) > limit

        def fits(cursor: str) -> bool:
            meant = (walk, shown[-1][0], depth + len(shown))
            return self.cursors.setdefault(cursor, meant) == meant

        pagination = {
            "limit": limit,
            "returned": len(shown),
            "total": len(rows),
            "has_more": more,
            "next_cursor": Unknown(fits) if more else None,
        }
        return {"data": [row[1] for row in shown], "pagination": pagination}

    def _chatbots(self, account: Account, query: dict[str, str]) -> Json:
        rows = [((0, place), _chatbot(bot)) for place, bot in enumerate(account.bots)]
        return self._page(rows, query, ("chatbots", account.id))

    def _conversations(self, account: Account, query: dict[str, str]) -> Json:
        bot_id, channel = query.get("chatbot_id"), query.get("channel")
        if bot_id is not None:
            self._bot(account, bot_id)
        found = [c for c in account.conversations if bot_id in {None, c.bot.id} and channel in {None, "api"}]
        rows = [((c.last, c.place), _conversation(c)) for c in found]
        return self._page(rows, query, ("conversations", account.id, bot_id, channel))

    def _conversation(self, account: Account, record: str, query: dict[str, str]) -> Json:
        limit = _count(query, "message_limit", 100, 500)
        for conversation in account.conversations:
            if conversation.id.value == record:
                count = len(conversation.messages)
                shown = conversation.messages[-limit:]
                more = {"message_count": count, "messages": shown, "messages_truncated": count > limit}
                return {**_conversation(conversation), **more}
        raise _Refused("conversation_not_found")

    # -- analytics --------------------------------------------------------------------------------------------------

    def analytics(self, account: Account, days: int) -> Json:
        """SPEC.md 2.5; the newest records count where there are too many."""
        start = self.now - self.now % DAY - (days - 1) * DAY
        within = sorted((row[:2], row) for row in account.usage if start <= row[0] <= self.now)
        rows = [row for _, row in within][-self.rules.row_cap :]
        truncated = len(rows) < len(within)
        covers = rows[0][0] if truncated else start
        by_day = {f"{_at(at):%Y-%m-%d}": 0 for at in range(covers - covers % DAY, self.now + 1, DAY)}
        for row in rows:
            by_day[f"{_at(row[0]):%Y-%m-%d}"] += 1
        return {
            "account": self._account(account),
            "chatbots": [
                {
                    "id": bot.id,
                    "name": bot.name,
                    "active": bot.active,
                    "messages_used_total": bot.used,
                    "messages_in_window": sum(row[2] is bot for row in rows),
                }
                for bot in reversed(account.bots)
            ],
            "usage": {
                "window_days": days,
                "from": _millis(start),
                "to": _millis(self.now),
                "covers_from": _millis(covers),
                "truncated": truncated,
                "row_cap": self.rules.row_cap,
                "total_messages": len(rows),
                "total_tokens": sum(row[3] for row in rows),
                "total_cost_usd": sum(row[4] for row in rows) / 1_000_000,
                "by_day": [{"day": day, "messages": count} for day, count in by_day.items()],
            },
        }

    def _account(self, account: Account) -> Json:
        plan = self.rules.plans[account.plan] if account.plan else None
        return {
            "plan": account.plan,
            "plan_version": plan.version if plan else None,
            "subscription_status": account.status,
            "messages_used": account.used.get(f"{_at(self.now):%Y-%m}", 0),
            "messages_limit": account.limit,
            "plan_message_limit": plan.messages if plan else None,
            "plan_bot_limit": plan.bots if plan else None,
            "message_credits": account.credits,
        }


def _fields(body: Json | str | None) -> tuple[str | None, ...]:
    """The four fields of a body that has one fault at most."""
    if not isinstance(body, dict) or set(body) - {"chatbot_id", "message", "user_id", "language"}:
        raise _Refused("invalid_json")
    bot, message = body.get("chatbot_id"), body.get("message")
    if not isinstance(bot, str) or not bot:
        raise _Refused("missing_chatbot_id")
    if not isinstance(message, str) or not message.strip():
        raise _Refused("missing_message")
    if len(message) > 4000:
        raise _Refused("message_too_long", max_chars=4000)
    user_id, language = body.get("user_id") or None, body.get("language") or None
    if user_id is not None and (not isinstance(user_id, str) or len(user_id) > 128):
        raise _Refused("invalid_json")
    if language not in {None, "tr", "en-GB"}:
        raise _Refused("invalid_json")
    return bot, message, user_id, language


def _count(query: dict[str, str], name: str, default: int, most: int) -> int:
    text = query.get(name, "")
    return min(max(int(text), 1), most) if re.fullmatch("-?[0-9]+", text) else default


def _chatbot(bot: Bot) -> Json:
    return {
        "id": bot.id,
        "name": bot.name,
        "description": None,
        "model": "scripted",
        "active": bot.active,
        "messages_used": bot.used,
        "created_at": f"{_at(bot.created):%Y-%m-%dT%H:%M:%SZ}",
        "updated_at": f"{_at(bot.updated):%Y-%m-%dT%H:%M:%SZ}",
    }


def _conversation(c: Conversation) -> Json:
    return {
        "id": c.id,
        "chatbot_id": c.bot.id,
        "channel": "api",
        "user_id": c.user_id,
        "session_id": f"api:{c.user_id}",
        "visitor_name": c.visitor_name,
        "visitor_email": c.visitor_email,
        "last_message_at": _millis(c.last)[:-1],
        "created_at": _millis(c.created)[:-1],
        "updated_at": _millis(c.last)[:-1],
    }


def _at(instant: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=instant)


def _millis(instant: int) -> str:
    return f"{_at(instant):%Y-%m-%dT%H:%M:%S}.{instant % 1000:03d}Z"
