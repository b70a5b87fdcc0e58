"""Every page and form for each role and for another account, against one table."""

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from chatsvc.dashboard.page import Access
from chatsvc.dashboard.routes import Route
from chatsvc.domain.actors import Role
from chatsvc.domain.opening_hours import DAYS
from chatsvc.services.administration import OPERATIONS
from tests.dashboard.client import Client, encoded
from tests.dashboard.site import ROLES, Site
from tests.dashboard.walk import UNKNOWN, Found, forms, ids_of, least_access, pages, parameters, path_of
from tests.services.test_permissions import EXPECTED, PERSONAL

# Forms without a command whose operation only reads or that need none: the least role.
EDITED = ("knowledge.set", "knowledge.preview", "unanswered.answer", "unanswered.add", "closed.add", "closed.remove")
OTHER_FORMS = {"bot.try": Role.READER, **dict.fromkeys(EDITED, Role.EDITOR)}
RANK = {"reader": Role.READER, "editor": Role.EDITOR, "owner": Role.OWNER, "administrator": Role.ADMINISTRATOR}
# Parameters that name records of one account, and ids that nobody has where they are no UUIDs.
OWNED = {"account", "bot", "site", "conversation", "request", "appointment", "attempt", "key", "entry", "change", "preview", "email"}
MISSING = {"email": "nobody@example.com"}
# An operator may change these of himself or herself.
OWN_PATHS = ("/me/",)


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def people(site: Site) -> AsyncIterator[dict[str, Client]]:
    """A browser for each role."""
    yield {role: await site.client(role) for role in ROLES}


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def shown_forms(site: Site, people: dict[str, Client]) -> dict[str, list[Found]]:
    """The forms that each role is shown."""
    ids = await ids_of(site, site.mine)
    return {role: await forms(client, ids) for role, client in people.items()}


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def all_forms(shown_forms: dict[str, list[Found]]) -> list[Found]:
    """Every form of the dashboard: those that owner and administrator are shown."""
    return list({(form.path, form.action): form for role in ("administrator", "owner") for form in shown_forms[role]}.values())


def test_every_page_is_in_the_table_with_its_access() -> None:
    assert {route.template: route.access for route in pages()} == {route.template: least_access(route.template) for route in pages()}


@pytest.mark.parametrize("route", pages(), ids=lambda route: route.template)
async def test_a_page_is_shown_to_those_who_may_see_it_alone(site: Site, people: dict[str, Client], route: Route) -> None:
    path = path_of(route.template, await ids_of(site, site.mine))
    least = least_access(route.template)
    # No such link was made, and this installation sends no mail.
    there = 404 if route.template.startswith(("/setup/", "/forgot")) else 410 if route.template == "/shown" else 200
    for role, client in people.items():
        answer = await client.get(path, follow=False)
        if least in (Access.PUBLIC, Access.WAITING) and there == 200:
            assert answer.status in (200, 303), (role, path)
        else:
            assert answer.status == (there if RANK[role] >= least else 403), (role, path, answer.alert)
    stranger = await site.client()
    answer = await stranger.get(path, follow=False)
    if least is Access.PUBLIC:
        assert answer.status in (200, 303, 404)
    else:
        assert (answer.status, answer.headers["Location"].partition("?")[0]) == (303, "/login")


@pytest.mark.parametrize(
    "route",
    [route for route in pages() if parameters(route.template) and "{token}" not in route.template],
    ids=lambda route: route.template,
)
async def test_a_record_of_another_account_is_a_missing_page(site: Site, people: dict[str, Client], route: Route) -> None:
    mine, other = await ids_of(site, site.mine), await ids_of(site, site.other)
    names = parameters(route.template)
    for role in ("reader", "editor", "owner"):
        allowed = (404,) if RANK[role] >= least_access(route.template) else (403, 404)
        for name in set(names) & OWNED:
            theirs = await people[role].get(path_of(route.template, {**mine, name: other[name]}))
            missing = await people[role].get(path_of(route.template, {**mine, name: MISSING.get(name, UNKNOWN)}))
            assert theirs.status in allowed, (role, theirs.path)
            assert (theirs.status, theirs.text) == (missing.status, missing.text)
    everybody = await people["administrator"].get(path_of(route.template, other))
    assert everybody.status == 200, everybody.path


def least_of(shown: Found) -> Role | None:
    """The least role for what a form does."""
    if shown.path.startswith(OWN_PATHS) or shown.action in PERSONAL:
        return None
    if shown.action == "bot.set" and re.search(r"/(texts|forms)/", shown.path):
        return Role.EDITOR  # its fields are parts of one argument
    if shown.action in OTHER_FORMS:
        return OTHER_FORMS[shown.action]
    names = dict.fromkeys(
        (ARGUMENTS.get(name, name) for name, _ in shown.values() if name not in ("id", "bot", "yes", "email", "piece", "version")), "x"
    )
    operation = OPERATIONS[shown.action]
    return operation.least_role(names) if operation.editable and names.keys() <= operation.editable else EXPECTED[shown.action]


ARGUMENTS = {"suggestion": "suggestions", "tr": "texts", "en": "texts"} | {
    f"hours_{day}": "hours" for day in DAYS
}  # of operations, by the fields that have another name


async def test_every_form_names_an_operation(all_forms: list[Found]) -> None:
    known = EXPECTED.keys() | OTHER_FORMS.keys() | set(PERSONAL)
    assert {form.action for form in all_forms} - known == set()
    assert len(all_forms) > 5


async def test_nobody_is_shown_a_form_that_the_role_does_not_allow(shown_forms: dict[str, list[Found]]) -> None:
    for role, role_forms in shown_forms.items():
        assert [(form.path, form.action) for form in role_forms if (least_of(form) or Role.READER) > RANK[role]] == [], role


async def test_a_form_is_refused_to_roles_below_its_operation(people: dict[str, Client], all_forms: list[Found], site: Site) -> None:
    wrong = []
    for form in all_forms:
        least = least_of(form)
        if least is None:
            continue
        for role in ("reader", "editor", "owner"):
            if RANK[role] < least:
                answer = await people[role].post(form.path, encoded(form.form, form.values(yes="1")), follow=False)
                # Name and language are one's own to change, and others are nobody to those who do not manage operators.
                refused = (403, 404) if form.action == "operator.set" else (403,)
                wrong += (
                    []
                    if answer.status in refused
                    else [(role, form.path, form.action, answer.status, answer.headers.get("Location") or answer.alert)]
                )
        stranger = await (await site.client()).post(form.path, encoded(form.form, form.values(yes="1")), follow=False)
        if (stranger.status, stranger.headers.get("Location", "").partition("?")[0]) != (303, "/login"):
            wrong.append(("nobody", form.path, form.action, stranger.status, ""))
    assert wrong == []


async def test_a_form_never_reaches_a_record_of_another_account(site: Site, people: dict[str, Client], all_forms: list[Found]) -> None:
    mine, other = await ids_of(site, site.mine), await ids_of(site, site.other)
    swap = {mine[name]: other[name] for name in OWNED}
    wrong = []
    for form in all_forms:
        if (least_of(form) or Role.ADMINISTRATOR) > Role.OWNER:
            continue
        path, fields = form.path, form.values(yes="1")
        for ours, theirs in swap.items():
            path = path.replace(ours, theirs)
        swapped = [(name, swap.get(value, value)) for name, value in fields]
        if (path, swapped) == (form.path, fields):
            continue
        answer = await people["owner"].post(path, encoded(form.form, swapped), follow=False)
        wrong += [] if answer.status == 404 else [(path, form.action, answer.status, answer.headers.get("Location") or answer.alert)]
    assert wrong == []


async def test_every_form_of_another_site_is_refused(people: dict[str, Client], all_forms: list[Found]) -> None:
    for form in all_forms:
        for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "", "Origin": "https://evil.example"}):
            answer = await people["administrator"].post(form.path, encoded(form.form, form.values(yes="1")), headers=headers, follow=False)
            assert answer.status == 403, form.path
