"""All routes of the dashboard."""

from __future__ import annotations

from chatsvc.dashboard.pages import login, logout, shown, today
from chatsvc.dashboard.route import Route

ROUTES: tuple[Route, ...] = (
    *login.ROUTES,
    *logout.ROUTES,
    *shown.ROUTES,
    *today.ROUTES,
)
