"""Dashboard: server-rendered pages in Turkish and English."""

from chatsvc.dashboard.front_end import Dashboard

__all__ = ["Dashboard"]
