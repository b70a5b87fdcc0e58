"""Dashboard: server-rendered pages in Turkish and English (DECISIONS.md section 6)."""

from chatsvc.dashboard.front_end import Dashboard

__all__ = ["Dashboard"]
