"""`doctor` on PostgreSQL: what the server and the database lack."""

from typing import Any

import pytest

from chatsvc.doctor.storage import server_findings as findings_of
from chatsvc.store.examination import ServerState
from tests.cli.support import Site
from tests.postgres import PASSWORD, Postgres
from tests.processes.support import MASTER_KEY, PostgresSite
from tests.tables import json_rows

GOOD = ServerState("15.1", 10_000, {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}, True, (5, 100), None)


def examined(site: Site) -> list[str]:
    checks: list[dict[str, Any]] = site.refused_with("doctor")["checks"]
    return [f"{check['state']} {check['found']}" for check in checks if check["name"] == "database"]


def test_a_server_that_loses_data_and_missing_rights_are_named(site: PostgresSite, server: Postgres) -> None:
    # The server of the tests runs without fsync.
    loses = "fault the server has fsync = off: a crash loses messages that were answered"
    assert examined(site) == [loses, "warning it has no tables yet"]
    site.json("init")
    assert examined(site) == [loses]
    with site.serve() as serving:
        assert examined(site) == [loses]
        assert serving.end() == 0
    server.administer(f"ALTER DATABASE {site.database} OWNER TO admin")
    assert examined(site) == [loses, "fault the user may not make tables, which an upgrade needs"]


def test_the_master_key_and_bots_without_knowledge_are_looked_at(site: PostgresSite) -> None:
    report = site.json("init")
    site.json("bot", "set", report["bot"]["id"], "--model", "offline")
    by_name = {check["name"]: check["found"] for check in site.refused_with("doctor")["checks"]}
    assert "has none" in by_name["knowledge"]
    site.change(MASTER_KEY, "6b" * 32)
    by_name = {check["name"]: check["found"] for check in site.refused_with("doctor")["checks"]}
    assert by_name["master key"] == "it is not the one this database was made with"


def test_a_database_that_cannot_be_used_is_told_in_one_line(site: PostgresSite, server: Postgres) -> None:
    site.json("init")
    server.run_in(site.database, "UPDATE chatsvc_schema SET version = 999")
    assert "install the newer chatsvc again" in examined(site)[0]
    site.change(PASSWORD, "another")
    assert "password authentication failed" in examined(site)[0]
    assert "another" not in examined(site)[0].replace("another one", "")


@pytest.mark.parametrize(("changed", "codes"), json_rows("processes/server_states"))
def test_the_state_of_a_server_is_judged(changed: dict[str, Any], codes: list[str]) -> None:
    assert [finding.code for finding in findings_of(GOOD._replace(**changed), 10_000, 10_500)] == codes
