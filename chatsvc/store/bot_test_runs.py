"""Queries of the latest runs of bots' tests, of which a bot keeps MOST_RUNS."""

from __future__ import annotations

import json

from chatsvc.domain.bot_tests import BotTestRun
from chatsvc.store.database import Connection, reads, writes

MOST_RUNS = 20
_MOST_QUESTIONS = 10  # that failed, of one run


@writes
def add(connection: Connection, bot_id: str, run: BotTestRun) -> None:
    """Insert a run and delete what exceeds the bound."""
    questions = json.dumps(list(run.questions)[:_MOST_QUESTIONS], ensure_ascii=False)
    connection.execute(
        "INSERT INTO bot_test_runs (bot_id, at, actor_name, tests, failed, questions) VALUES (?, ?, ?, ?, ?, ?)",
        (bot_id, run.at, run.by, run.tests, run.failed, questions),
    )
    connection.execute(
        """
        DELETE FROM bot_test_runs WHERE bot_id = ?1 AND number NOT IN (
            SELECT number FROM bot_test_runs WHERE bot_id = ?1 ORDER BY number DESC LIMIT ?2)
        """,
        (bot_id, MOST_RUNS),
    )


@reads
def latest(connection: Connection, bot_id: str) -> list[BotTestRun]:
    """List the runs of a bot, newest first."""
    rows = connection.execute(
        "SELECT at, actor_name, tests, failed, questions FROM bot_test_runs WHERE bot_id = ? ORDER BY number DESC", (bot_id,)
    )
    return [BotTestRun(at, by, tests, failed, json.loads(questions)) for at, by, tests, failed, questions in rows]
