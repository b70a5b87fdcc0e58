"""`chatsvc audit`: list of administrative acts."""

from __future__ import annotations

import click

from chatsvc.cli.operations import operation

COLUMNS = ("at", "uid", "operation", "outcome", "ids")


audit = operation(
    "audit",
    "audit",
    click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="Maximum number of records."),
    click.option("--since", metavar="TIME", help="Only acts since then (2026-11-20T08:00, UTC)."),
    columns=COLUMNS,
    pages=True,
    shown=lambda acts: [{**act, "ids": " ".join(f"{name} {id_}" for name, id_ in act["ids"].items())} for act in acts],
)
