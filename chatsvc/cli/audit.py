"""`chatsvc audit`: list of administrative acts."""

from __future__ import annotations

import click

from chatsvc.cli.operations import operation

COLUMNS = ("at", "uid", "operation", "outcome", "ids")


@operation(
    None,
    "audit",
    click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="Maximum number of records."),
    click.option("--since", metavar="TIME", help="Only acts since then (2026-11-20T08:00, UTC)."),
    columns=COLUMNS,
    pages=True,
    shown=lambda acts: [{**act, "ids": " ".join(f"{name} {id_}" for name, id_ in act["ids"].items())} for act in acts],
)
def audit() -> None:
    """List administrative acts, newest first. Reading is not recorded.

    Each act has its time (UTC), the uid of the local user, the operation, the ids concerned, and `done`, `refused` or `failed`. The newest
    100,000 of each account are kept. The same refused act within ten minutes is one record, with the number of `times`.

    \b
    Examples:
      chatsvc audit
      chatsvc audit --since 2026-11-20T08:00 --limit 1000 --json
    """
