"""The configuration of one call of the command line."""

import os
from functools import partial
from pathlib import Path
from typing import Any

import click

CONFIG, OUTPUTS, HAND_OVER = "chatsvc.config", "chatsvc.outputs", "chatsvc.hand_over"  # keys of the root context


def load_config(ctx: click.Context, *late: str, listens: bool = False) -> Any:
    """Load the configuration once a call, as the service's user where root runs it. Raises ConfigError and Refused."""
    root = ctx.find_root()
    if CONFIG not in root.meta:
        from chatsvc.control.identity import Identity

        before = partial(root.meta[HAND_OVER], root.meta[OUTPUTS]) if OUTPUTS in root.meta else None
        identity = Identity(late=late, before=before, listens=listens)
        root.meta[CONFIG] = identity.load(root.obj, os.environ, Path.cwd())
    return root.meta[CONFIG]
