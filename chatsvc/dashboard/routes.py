"""All routes of the dashboard."""

from __future__ import annotations

from chatsvc.dashboard.pages import account, audit, login, logout, me, operators, second_factor, setup, shown, today
from chatsvc.dashboard.route import Route

ROUTES: tuple[Route, ...] = (
    *login.ROUTES,
    *second_factor.ROUTES,
    *setup.ROUTES,
    *logout.ROUTES,
    *me.ROUTES,
    *shown.ROUTES,
    *today.ROUTES,
    *operators.ROUTES,
    *account.ROUTES,
    *audit.ROUTES,
)
