"""Declarations of pages: a view is a template with its values, a form is an operation with its arguments and where it leads."""

from collections.abc import Awaitable, Callable, Container, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard.fields import NO_FIELDS, Fields
from chatsvc.dashboard.page import Page, is_about_form
from chatsvc.domain.refusals import Refused
from chatsvc.services import administration

Values = Callable[[Page, Fields], Awaitable[Mapping[str, Any]]]


@dataclass(frozen=True)
class View:
    """A page. `values` are those of its template; its second argument are the fields of a form that is shown again, else none.

    kept: refusals that are shown in the form although they name a missing record.
    """

    template: str
    values: Values
    kept: Container[str] = ()

    async def __call__(self, page: Page) -> Response:
        return await self.show(page)

    async def show(self, page: Page, fields: Fields = NO_FIELDS, **more: Any) -> Response:
        """Show the page with what was typed."""
        return page.render(self.template, **{**await self.values(page, fields), **more})

    async def refuse(self, page: Page, fault: Refused, fields: Fields, **more: Any) -> Response:
        """Show the page again with a refusal and with what was typed. Re-raises one about permission or a missing record."""
        if fault.code not in self.kept and not is_about_form(fault):
            raise fault
        return page.refused(self.template, fault, self.kept, **{**await self.values(page, fields), **more})


@dataclass(frozen=True)
class Action:
    """A form that performs an operation.

    Its arguments are the parameters of the path, without records that it does not take, and those that are `given`: `argument`,
    `argument=field`, `argument:reader` (a method of Fields, else `text`), where `account` is that of the page; or a function that makes
    them of the fields. A refusal is shown in `view`, without one on an error page. Then the browser goes `to` a path with parameters of
    the path, and of the result (`made`), where `done` names the notice; or `then` makes the response. What cannot be undone needs
    `confirm`.
    """

    operation: str
    view: View | None = None
    given: str | Callable[[Page, Fields], Mapping[str, Any]] = ""
    to: str = ""
    done: str | None = None
    then: Callable[[Page, Any], Awaitable[Response]] | None = None
    confirm: bool = False

    async def __call__(self, page: Page) -> Response:
        fields = await page.form()
        try:
            if self.confirm and page.may(self.operation):
                fields.require_confirmation()
            made = await page.perform(self.operation, **self._arguments(page, fields))
        except Refused as fault:
            if self.view is None:
                raise
            return await self.view.refuse(page, fault, fields)
        return await self.then(page, made) if self.then else page.redirect(self.to.format(**page.params, made=made), done=self.done)

    def _arguments(self, page: Page, fields: Fields) -> Mapping[str, Any]:
        records = administration.find(self.operation).records
        found: dict[str, Any] = {name: value for name, value in page.params.items() if name in records or not administration.is_owned(name)}
        if not isinstance(self.given, str):
            return {**found, **self.given(page, fields)}
        for one in self.given.split():
            names, _, reader = one.partition(":")
            argument, _, field = names.partition("=")
            found[argument] = page.account_id if one == "account" else getattr(fields, reader or "text")(field or argument)
        return found
