"""Installations whose store is a database of a real PostgreSQL."""

from pathlib import Path
from typing import Any

import psycopg

from tests.cli.support import Site
from tests.postgres import PASSWORD, USER, Postgres

MASTER_KEY = "5a" * 32


def settings_of(url: str, key: str = MASTER_KEY, password: str = PASSWORD) -> str:
    return f"models: {{offline: {{engine: knowledge}}}}\nmaster_key: {key}\nstore: {{url: '{url}', password: {password}}}"


class PostgresSite(Site):
    """The installation of one process. Those with the same database are one service."""

    def __init__(self, folder: Path, server: Postgres, database: str, port: int | None = None) -> None:
        folder.mkdir(exist_ok=True)
        self.server, self.database = server, database
        self.url = f"postgresql://{USER}@127.0.0.1:{port or server.port}/{database}"
        super().__init__(folder, settings_of(self.url))

    def change(self, old: str, new: str) -> None:
        text = self.config.read_text()
        assert old in text
        self.config.write_text(text.replace(old, new))

    def run_as_admin(self, statement: str) -> None:
        """Run a statement on its database as the superuser."""
        self.server.run_in(self.database, statement)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Read from its database; raises LookupError where it has no such table."""
        with self.server.connect(self.database) as connection:
            try:
                return connection.execute(statement.encode()).fetchall()
            except psycopg.errors.UndefinedTable:
                raise LookupError(statement) from None
