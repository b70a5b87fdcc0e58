"""Context of one request to a page: operator, account and language, and the responses that a page makes.

A view is a template with its values. A form is a handler of typed values; if they are refused, it shows a view again with them.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Container, Iterable, Mapping, Sequence
from enum import IntEnum
from functools import cached_property, partial
from typing import Any, TypeVar

from aiohttp.web import Request, Response

from chatsvc import translations
from chatsvc.dashboard import localization, responses, wording
from chatsvc.dashboard.responses import environment, local, put_cookie, with_query
from chatsvc.dashboard.wording import faults_of, sentence
from chatsvc.domain import refusals
from chatsvc.domain.actors import ANONYMOUS, Caller, Role, Scope
from chatsvc.domain.models import Account, Bot
from chatsvc.domain.operators import NewSession, Operator, OperatorSession, SignedIn
from chatsvc.domain.paging import ResultPage
from chatsvc.domain.refusals import Refused
from chatsvc.domain.times import MINUTE_MS
from chatsvc.services import administration
from chatsvc.services.services import Services
from chatsvc.services.team import sessions
from chatsvc.web.forms import NO_FIELDS, UNKNOWN_SENDER, Fields, FormLimits, read_form, whole_number
from chatsvc.web.requests import INFO

DEFAULT_ZONE = "Europe/Istanbul"
LOGIN_PATH, CODE_PATH, HOME_PATH, SHOWN_PATH = "/login", "/login/code", "/", "/shown"
# Sent by static/app.js, with the account that the open page shows: another tab may have chosen another one since.
REFRESH = "Chatsvc-Refresh"
_SHOWN_COOKIE = "chatsvc_shown"
T = TypeVar("T")


class Access(IntEnum):
    """Least access that a page requires. READER and the values above it are roles in the account of the page (see Role).

    PUBLIC needs no session, WAITING a session that still lacks the second factor, and SIGNED_IN any complete session.
    """

    PUBLIC = -2
    WAITING = -1
    SIGNED_IN = 0
    READER = Role.READER
    EDITOR = Role.EDITOR
    OWNER = Role.OWNER
    ADMINISTRATOR = Role.ADMINISTRATOR


# The access levels of pages about one account.
ACCOUNT_ACCESS = (Access.READER, Access.EDITOR, Access.OWNER)

# Path template of a page, the key of its text, the least access, and for the menu the group.
MENU = (
    ("/", "navigation.today", Access.READER, "work"),
    ("/inbox", "navigation.inbox", Access.READER, "work"),
    ("/conversations", "navigation.conversations", Access.READER, "work"),
    ("/people", "people.title", Access.READER, "work"),
    ("/bots", "navigation.bots", Access.READER, "work"),
    ("/usage", "navigation.usage", Access.READER, "work"),
    ("/webhooks", "navigation.webhooks", Access.OWNER, "account"),
    ("/keys", "navigation.keys", Access.OWNER, "account"),
    ("/operators", "navigation.operators", Access.OWNER, "account"),
    ("/account", "navigation.account", Access.OWNER, "account"),
    ("/audit", "navigation.audit", Access.OWNER, "account"),
    ("/accounts", "navigation.accounts", Access.ADMINISTRATOR, "installation"),
    ("/system", "navigation.system", Access.ADMINISTRATOR, "installation"),
)
BOT_TABS = (
    ("/bots/{bot}", "navigation.bot_settings", Access.READER, ""),
    ("/bots/{bot}/knowledge", "navigation.bot_knowledge", Access.READER, ""),
    ("/bots/{bot}/unanswered", "navigation.bot_unanswered", Access.READER, ""),
    ("/bots/{bot}/tests", "navigation.bot_tests", Access.READER, ""),
    ("/bots/{bot}/try", "navigation.bot_try", Access.READER, ""),
    ("/bots/{bot}/channels", "navigation.bot_channels", Access.OWNER, ""),
    ("/bots/{bot}/webhook", "navigation.bot_webhook", Access.OWNER, ""),
)


MenuLinks = list[dict[str, str | bool]]


def links(entries: Iterable[tuple[str, str, Access, str]], path: str, may_see: Callable[[Access], bool], **params: str) -> MenuLinks:
    """Return the links of a menu that the operator may see. `is_current` marks the link of the page `path` or of the next page above it."""
    visible = [(template.format(**params), text, group) for template, text, least, group in entries if may_see(least)]
    above = [target for target, _, _ in visible if path == target or (target != "/" and path.startswith(target + "/"))]
    current = max(above, key=len, default=None)
    return [{"path": target, "text": text, "group": group, "is_current": target == current} for target, text, group in visible]


class Page:
    """Context of one request to a page.

    `account_id` is the account of the page. This is the account of the record in the path, otherwise the account for which
    the form was made, otherwise the account chosen in the session. `has_record` is true if the path names a record. `is_signed_in` is true
    if the session is complete. Without a session, the attributes `operator` and `session` do not exist.
    """

    operator: Operator
    session: OperatorSession

    def __init__(self, services: Services, request: Request, access: Access, signed_in: SignedIn | None) -> None:
        self.services = services
        self.request = request
        self.access = access
        self.info = request[INFO]
        self.path = request.rel_url.raw_path
        self.params: Mapping[str, str] = request.match_info
        self.query = request.query
        self.signed_in = signed_in
        self.is_signed_in = signed_in is not None and signed_in.session.verified
        self.caller: Caller = sessions.caller_of(signed_in) if signed_in else ANONYMOUS
        if signed_in is not None:
            self.operator, self.session = signed_in.operator, signed_in.session
        self.is_refresh = REFRESH in request.headers
        self.account_id: str | None = None
        self.has_record = False
        self.accounts: Mapping[str, Account] = {}
        self.timezone = DEFAULT_ZONE
        self.has_times = False
        self.fields: Fields | None = None
        self.faults: Mapping[str, str] = {}
        self._is_bound = self._is_refused_form = self._has_focus = False
        self._refused_filters: Refused | None = None

    @cached_property
    def language(self) -> str:
        accepted = self.request.headers.get("Accept-Language", "")
        return localization.preferred_language(accepted, self.operator.language if self.signed_in else None)

    @property
    def role(self) -> Role | None:
        """The operator's role in the account of the page. Without an account, it is ADMINISTRATOR for an administrator, otherwise None."""
        if self.account_id is None:
            return Role.ADMINISTRATOR if self.is_signed_in and self.operator.admin else None
        return self.caller.scope.role(self.account_id)

    @property
    def account(self) -> Account | None:
        return self.accounts.get(self.account_id or "")

    def may_see(self, access: Access) -> bool:
        return access <= Access.SIGNED_IN or (self.role is not None and self.role >= access)

    def may(self, operation: str, *arguments: str) -> bool:
        """Report whether the role allows an operation with arguments of these names. Templates use it to show or hide a button."""
        least = administration.OPERATIONS[operation].least_role(dict.fromkeys(arguments, ""))
        return least is None or (self.role is not None and self.role >= least)

    async def perform(self, operation: str, **arguments: Any) -> Any:
        """Perform an administrative operation. Raise Refused if it is refused.

        An operation on a record is performed in the record's account. Any other operation is performed in the account of the page.
        """
        needed, caller = administration.OPERATIONS[operation], self.caller
        is_named = not self._is_bound and any(map(arguments.get, needed.records))
        # These lists are of all accounts of the caller, and an operator may have several: operators.py compares the roles of both.
        is_of_account = needed.role not in (None, Role.ADMINISTRATOR) and not operation.startswith(("operator.", "account.list", "audit"))
        if is_of_account and not is_named and self.account_id is not None:
            role = caller.scope.role(self.account_id)
            caller = caller._replace(scope=Scope({self.account_id: role} if role else {}))
        return await administration.perform(self.services, caller, operation, arguments)

    async def bot(self) -> Bot:
        """Return the bot in the path. Raise `bot_not_found` if there is none."""
        bot_id = self.params["bot"]
        bot = await self.services.account_cache.bot(self.account_id, bot_id)
        if bot is None:
            raise refusals.bot_not_found(bot=bot_id)
        return bot

    async def listed(self, operation: str, /, **filters: Any) -> ResultPage[Any]:
        """Perform an operation that returns a list. If it refuses the URL's filters, return an empty list; the page then shows why."""
        try:
            return await self.perform(operation, **filters)  # type: ignore[no-any-return]
        except Refused as fault:
            if status_of(fault) != 422:
                raise
            self._refused_filters = fault
            return ResultPage([], None)

    def part(self, items: Sequence[T], size: int) -> ResultPage[T]:
        """Return at most `size` items of a list, beginning at the index that the query parameter `after` gives."""
        start = whole_number(self.query.get("after", "")) or 0
        return ResultPage(list(items[start : start + size]), str(start + size) if start + size < len(items) else None)

    async def form(self, limits: FormLimits | None = None) -> Fields:
        """Return the fields of the submitted form, which is read only once. Raise BadForm, BodyTooLarge, BodyTimeout or BodyBroken.

        Raise `account_not_found` if the form was made for an account that does not own the record in the path.
        """
        if self.fields is None:
            limits = (limits or FormLimits()) if self.is_signed_in else UNKNOWN_SENDER
            self.fields = await read_form(self.request, limits)
            account = self.fields.text("account")
            # A form of a page about an account may act in that account alone.
            self._is_bound = self.access in ACCOUNT_ACCESS and bool(account)
            if self.has_record and self._is_bound and account != self.account_id:
                raise refusals.account_not_found(account=account)
        return self.fields

    def require_confirmation(self, operation: str, fields: Fields) -> None:
        """Raise `confirmation_needed` if the form lacks the field `yes`. Do nothing if the operator's role does not allow the operation."""
        if self.may(operation) and "yes" not in fields:
            raise refusals.confirmation_needed()

    def text(self, key: str, /, **values: object) -> str:
        return localization.text(self.language, key, **values)

    def url(self, path: str | None = None, /, **changes: object) -> str:
        """Return a path with query parameters. Without `path`, change the parameters of the present URL; None removes a parameter."""
        if path is not None:
            return with_query(path, changes)
        present = {name: value for name, value in self.query.items() if name not in ("done", "account")}
        return with_query(self.path, {**present, **changes})

    def render(self, template: str, /, status: int = 200, more: Iterable[tuple[str, str]] = (), **values: Any) -> Response:
        """Render a template with `values` and the variables of every page, such as `page` and `t`. `more` are additional header fields."""
        if (fault := self._refused_filters) is not None and status == 200:
            self.faults, status = faults_of(self.language, fault), 422
            values["fault"] = sentence(self.language, fault)
        return responses.respond(status, environment().get_template(template).render({**self._context(), **values}), more=more)

    def download(self, content: bytes | AsyncIterator[bytes], kind: str, name: str) -> Response:
        """Make a response that the browser saves as the file `name`. The name may contain ASCII letters, digits, "-", "." and "_"."""
        return responses.respond(200, content, kind, [("Content-Disposition", f'attachment; filename="{name}"')])

    def fail(self, status: int, detail: str | None = None, more: Iterable[tuple[str, str]] = ()) -> Response:
        """Render the error page of an HTTP status. `detail` replaces the default sentence of the status."""
        title, text = self.text(f"errors.title_{status}"), detail or self.text(f"errors.text_{status}")
        return self.render("error.html", status=status, more=more, title=title, sentence=text)

    def fail_with(self, fault: Refused) -> Response:
        """Render the error page of a refusal. A missing record and a missing page give the same text."""
        status = status_of(fault)
        return self.fail(status, None if status == 404 else sentence(self.language, fault), _retry(fault))

    def _context(self) -> dict[str, Any]:
        language, zone = self.language, self.timezone
        done = self.query.get("done", "")
        return {
            "page": self,
            "language": language,
            "t": self.text,
            "has": translations.has,
            "choices": partial(localization.choices, language),
            "name_of": partial(localization.name_of, language),
            "url": self.url,
            "fault": None,
            "notice": self.text(f"done.{done}") if self.is_signed_in and translations.has(f"done.{done}") else None,
            "number": partial(localization.number, language=language),
            "percent": partial(localization.percent, language=language),
            "money": partial(localization.money, language=language),
            "size": partial(localization.size, language=language),
            "reasons": partial(wording.reasons, language),
            "date": lambda instant, zone=zone: localization.date(instant, language, zone),
            "days": partial(localization.days, language=language),
            "ago_text": self._ago,
            "visitor": partial(wording.visitor, language),
            "weekday": lambda instant, zone=zone: localization.weekday(instant, language, zone),
            "clock": lambda instant, zone=zone: self._zoned(localization.clock(instant, zone), zone),
            "date_and_time": lambda instant, zone=zone: self._zoned(localization.date_and_time(instant, language, zone), zone),
        }

    def _ago(self, instant: int) -> str:
        """Write how long ago an instant was: in minutes, in hours, as yesterday, as a weekday, or as a date after a week."""
        now, zone = self.services.clock(), self.timezone
        days, minutes = localization.days_ago(instant, now, zone), max(0, now - instant) // MINUTE_MS
        if minutes < 1:
            return self.text("parts.ago_now")
        if minutes < 60:
            return self.text("parts.ago_minutes", count=minutes)
        if days < 1:
            return self.text("parts.ago_hours", count=minutes // 60)
        if days == 1:
            return self.text("parts.ago_yesterday")
        return (
            localization.weekday(instant, self.language, zone) if days < 7 else localization.short_date(instant, now, self.language, zone)
        )

    def day_name(self, instant: int, zone: str) -> str:
        """Name the day of an instant: today, yesterday, or the weekday and the date."""
        days = localization.days_ago(instant, self.services.clock(), zone)
        if days in (0, 1):
            return self.text("parts.today" if days == 0 else "parts.yesterday")
        weekday, date = localization.weekday(instant, self.language, zone), localization.date(instant, self.language, zone)
        return self.text("parts.day", weekday=weekday, date=date)

    def _zoned(self, time: str, zone: str) -> str:
        self.has_times = True
        return time if zone == self.timezone else f"{time} ({zone})"

    @cached_property
    def menu(self) -> MenuLinks:
        return links(MENU, self.path, self.may_see) if self.is_signed_in else []

    def bot_tabs(self, bot: str) -> MenuLinks:
        return links(BOT_TABS, self.path, self.may_see, bot=bot)

    def redirect(self, path: str, done: str | None = None) -> Response:
        """Redirect after a form. `done` is the key, in `done.yaml`, of the notice that the next page shows."""
        return responses.redirect(with_query(local(path), {"done": done}))

    def begin_form(self, path: str, is_refused: bool | None = None) -> None:
        """Begin a form of a template. The refused form shows its faults. By default, this is the form whose `path` the request has."""
        self._is_refused_form = path.partition("?")[0] == self.path if is_refused is None else is_refused

    def fault_of(self, name: str) -> str | None:
        """Return the fault of the field `name` in the form for which `begin_form` was called last, or None."""
        return self.faults.get(name) if self._is_refused_form else None

    def take_focus(self) -> bool:
        """Return True at the first call for a page, and False later. Fields with a fault call it, so that only the first gets the focus."""
        is_first, self._has_focus = not self._has_focus, True
        return is_first

    def start_session(self, begun: NewSession, path: str, done: str | None = None) -> Response:
        """Redirect with the cookie of a new session. If the session waits for the second factor, redirect to the page that asks for it."""
        path = with_query(local(path), {"done": done})
        if not begun.session.verified:
            path = with_query(CODE_PATH, {"next": path if path != HOME_PATH else None})
        return put_cookie(responses.redirect(path), self._public_url, responses.SESSION_COOKIE, begun.token)

    def end_session(self) -> Response:
        return put_cookie(responses.redirect(LOGIN_PATH), self._public_url, responses.SESSION_COOKIE, "", 0)

    async def show_once(self, secrets: Mapping[str, str], back: str, title: str | None = None) -> Response:
        """Redirect to a page that shows secrets only once. `secrets` maps labels to secrets. `back` is the path of the link to continue."""
        content = {"title": title, "secrets": list(secrets.items()), "back": local(back)}
        sealed = await sessions.seal_to_show(self.services, self.session.id, content)
        return put_cookie(responses.redirect(SHOWN_PATH), self._public_url, _SHOWN_COOKIE, sealed, sessions.SHOWN_ONCE_MS // 1000)

    async def show_secrets(self) -> Response:
        """Show the secrets that `show_once` stored in a cookie, and delete the cookie. The status is 410 if they were shown already."""
        sealed = self.request.cookies.get(responses.cookie_name(self._public_url, _SHOWN_COOKIE), "")
        content = await sessions.take_to_show(self.services, self.session.id, sealed)
        shown = self.render("shown.html", **content) if content else self.render("shown_gone.html", status=410)
        return put_cookie(shown, self._public_url, _SHOWN_COOKIE, "", 0)

    @property
    def _public_url(self) -> str:
        return self.services.config.server.public_url


_STATUSES = {"session_needed": 401, "forbidden": 403, "fields_changed": 409}
_STATUSES |= dict.fromkeys(("service_stopping", "store_unavailable", "unexpected_fault"), 503)


def status_of(fault: Refused) -> int:
    """Return the HTTP status of a refusal. It is 422 for a refusal of the values of a form."""
    if fault.code in _STATUSES:
        return _STATUSES[fault.code]
    if "retry_after" in fault.facts:
        return 429
    return 404 if fault.code.endswith("_not_found") else 422


def _retry(fault: Refused) -> list[tuple[str, str]]:
    return [("Retry-After", str(fault.facts["retry_after"]))] if "retry_after" in fault.facts else []


Handler = Callable[[Page], Awaitable[Response]]
Values = Callable[[Page, Fields], Awaitable[dict[str, Any]]]
Submit = Callable[[Page, Fields], Awaitable[Response]]


class View:
    """A page, made of a template and its values. `values` returns them for the page and, if a form is shown again, its typed fields."""

    def __init__(self, template: str, values: Values, codes: Container[str] = ()) -> None:
        self.template = template
        self.values = values
        self._codes = codes

    async def __call__(self, page: Page, typed: Fields = NO_FIELDS, **more: Any) -> Response:
        return page.render(self.template, **{**await self.values(page, typed), **more})

    async def refuse(self, page: Page, refusal: Refused, typed: Fields, **more: Any) -> Response:
        """Show the page again with a refusal and the typed values. Re-raise refusals about a permission or a missing record.

        If somebody else has changed the values meanwhile, the form gets the new version of the values. Sending the form again
        then overwrites that change.
        """
        status = 422 if refusal.code in self._codes else status_of(refusal)
        if status not in (409, 422, 429):
            raise refusal
        page.faults = faults_of(page.language, refusal)
        values = {**await self.values(page, typed), "fault": sentence(page.language, refusal), **more}
        return page.render(self.template, status=status, more=_retry(refusal), **values)


def view(template: str, codes: Container[str] = ()) -> Callable[[Values], View]:
    """Return a decorator that makes a view of the function for its values. The view also shows refusals with one of `codes`."""
    return lambda values: View(template, values, codes)


def form(shown: View | None = None) -> Callable[[Submit], Handler]:
    """Return a decorator that makes a handler of a function of the submitted fields. The view `shown`, or an error page, shows refusals."""

    def handler_of(submit: Submit) -> Handler:
        async def handle(page: Page) -> Response:
            fields = await page.form()
            try:
                return await submit(page, fields)
            except Refused as refusal:
                if shown is None:
                    raise
                return await shown.refuse(page, refusal, fields)

        return handle

    return handler_of


def act(operation: str, *records: str, to: str, done: str | None = None, shown: View | None = None, confirm: bool = False) -> Handler:
    """Make a handler that performs an operation and then redirects to the path `to`.

    `records` names the path's parameters that the operation gets. `to` has placeholders for these, and `result` for the operation's result.
    """

    @form(shown)
    async def submit(page: Page, fields: Fields) -> Response:
        if confirm:
            page.require_confirmation(operation, fields)
        result = await page.perform(operation, **{name: page.params[name] for name in records})
        return page.redirect(to.format(**page.params, result=result), done=done)

    return submit
