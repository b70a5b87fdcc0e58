"""`chatsvc conversation erase` and `export`, with a service that runs and without one."""

from __future__ import annotations

from pathlib import Path

from tests.cli.support import Site, usage_error


def talk(site: Site, visitors: int = 3, messages: int = 2) -> tuple[str, str]:
    """A bot on a served installation that has talked to some visitors; its id and a key."""
    account = site.account()
    bot, key = site.bot(account), site.key(account)
    site.json("knowledge", "add", bot, _greeting(site.folder))
    assert site.serving
    for visitor in range(visitors):
        for i in range(messages):
            body = {"chatbot_id": bot, "message": "Hello there" if i else "Merhaba", "user_id": f"v{visitor}"}
            assert site.serving.ask(key, "POST", "/messages", body).status == 200
    return bot, key


def _greeting(folder: Path) -> Path:
    file = folder / "faq.md"
    file.write_text("## Hello there\nHi, “you”,\nhow are you?\n\n## Merhaba\nMerhaba, hoş geldiniz\n")
    return file


def test_erasing_wants_a_yes_and_then_says_what_has_gone(fresh: Site) -> None:
    with fresh.serve():
        bot, _ = talk(fresh)
        usage_error(fresh.run("conversation", "erase", "--user-id", "v1"), "add --yes")
        erased = fresh.json("conversation", "erase", "--user-id", "v1", "--yes")
        assert erased == {
            "user_id": "v1", "conversations": 1, "messages": 4, "requests": 0,
            "appointments": 0, "events": 0, "attempts": 0,
        }
        assert sorted(c["user_id"] for c in fresh.json("conversation", "list", "--bot", bot)) == ["v0", "v2"]
    fresh.serving = None
    assert fresh.json("conversation", "erase", "--user-id", "v2", "--bot", bot, "--yes")["messages"] == 4
    assert [c["user_id"] for c in fresh.json("conversation", "list")] == ["v0"]
    assert "there is no bot" in fresh.refused("conversation", "erase", "--user-id", "v0", "--bot", "x", "--yes")
