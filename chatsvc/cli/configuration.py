"""The configuration of one call of the command line."""

import os
from pathlib import Path

import click

from chatsvc import config
from chatsvc.config import Config, ConfigDocument
from chatsvc.local_user import refuse_root

DOCUMENT, CONFIG = "chatsvc.document", "chatsvc.config"  # keys of the root context


def load_document(ctx: click.Context) -> ConfigDocument:
    """Read the configuration file once a call. Raises ConfigError, and CommandError where root would use another user's files."""
    root = ctx.find_root()
    if DOCUMENT not in root.meta:
        path = config.locate(root.obj, os.environ, Path.cwd())
        if path is not None:
            refuse_root(path)
        document = config.read(path)
        refuse_root(document.data_dir())
        root.meta[DOCUMENT] = document
    loaded: ConfigDocument = root.meta[DOCUMENT]
    return loaded


def load_config(ctx: click.Context) -> Config:
    """Load the whole configuration once a call. Raises ConfigError and CommandError."""
    root = ctx.find_root()
    if CONFIG not in root.meta:
        root.meta[CONFIG] = config.build(load_document(ctx))
    loaded: Config = root.meta[CONFIG]
    return loaded
