"""Views and forms: a view is a template with its values, a form is a handler whose refusal shows a view again with what was typed."""

from collections.abc import Awaitable, Callable, Container, Mapping
from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard.fields import NO_FIELDS, Fields
from chatsvc.dashboard.page import Page, status_of
from chatsvc.domain.refusals import Refused

Handler = Callable[[Page], Awaitable[Response]]
Values = Callable[[Page, Fields], Awaitable[dict[str, Any]]]
Submit = Callable[[Page, Fields], Awaitable[Response]]


class View:
    """A page. `values` are those of its template; its second argument are the fields of a form that is shown again, else none."""

    def __init__(self, template: str, values: Values, codes: Container[str] = ()) -> None:
        self.template = template
        self.values = values
        self._codes = codes

    async def __call__(self, page: Page, typed: Fields = NO_FIELDS, **more: Any) -> Response:
        return page.render(self.template, **{**await self.values(page, typed), **more})

    async def refuse(self, page: Page, refusal: Refused, typed: Fields, **more: Any) -> Response:
        """Show the page again with a refusal and with what was typed. Re-raises one about permission or a missing record."""
        status = 422 if refusal.code in self._codes else status_of(refusal)
        if status not in (422, 429):
            raise refusal
        return page.refused(self.template, refusal, status, **{**await self.values(page, typed), **more})

    async def conflict(self, page: Page, changed: Mapping[str, str], typed: Fields) -> Response:
        """Show the page again, whose fields somebody else has changed meanwhile."""
        return page.conflict(self.template, changed, **await self.values(page, typed))


def view(template: str, codes: Container[str] = ()) -> Callable[[Values], View]:
    """Make a view of the function that returns its values. `codes` are refusals shown in it although they name a missing record."""
    return lambda values: View(template, values, codes)


def form(shown: View | None = None) -> Callable[[Submit], Handler]:
    """Make a handler of a function of the submitted fields. A refusal is shown in `shown`, without it on an error page."""

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
    """Make a handler that performs an operation on records of the path. It leads to a path with the same parameters."""

    @form(shown)
    async def submit(page: Page, fields: Fields) -> Response:
        if confirm:
            page.require_confirmation(operation, fields)
        await page.perform(operation, **{name: page.params[name] for name in records})
        return page.redirect(to.format(**page.params), done=done)

    return submit
