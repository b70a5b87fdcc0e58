"""All routes of the dashboard."""

from __future__ import annotations

from chatsvc.dashboard.pages import (
    account,
    audit,
    bot,
    bot_forms,
    bot_texts,
    bots,
    knowledge,
    knowledge_entry,
    knowledge_history,
    knowledge_preview,
    login,
    logout,
    me,
    operators,
    second_factor,
    setup,
    shown,
    today,
    try_bot,
    unanswered,
)
from chatsvc.dashboard.route import Route

ROUTES: tuple[Route, ...] = (
    *login.ROUTES,
    *second_factor.ROUTES,
    *setup.ROUTES,
    *logout.ROUTES,
    *me.ROUTES,
    *shown.ROUTES,
    *today.ROUTES,
    *bots.ROUTES,
    *bot.ROUTES,
    *bot_texts.ROUTES,
    *bot_forms.ROUTES,
    *knowledge.ROUTES,
    *knowledge_history.ROUTES,
    *knowledge_preview.ROUTES,
    *knowledge_entry.ROUTES,
    *unanswered.ROUTES,
    *try_bot.ROUTES,
    *operators.ROUTES,
    *account.ROUTES,
    *audit.ROUTES,
)
