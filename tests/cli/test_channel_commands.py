"""`chatsvc channel`, and taking a conversation over by the command line."""

from __future__ import annotations

import json

from tests.cli.support import Site, usage_error
from tests.cli.test_conversation_commands import talk


def test_a_widget_is_set_listed_shown_paused_resumed_and_removed(site: Site) -> None:
    bot = site.bot(site.account())
    made = site.json("channel", "set", bot, "web", "--site", "https://shop.example.com", "--site", "https://b.example", "--title", "Help")
    assert (made["channel"], made["state"], made["warning"]) == ("web", "active", None)
    assert made["sites"] == ["https://shop.example.com", "https://b.example"]
    assert site.json("channel", "set", bot, "web", "--site", "")["sites"] == []
    (listed,) = site.json("channel", "list", bot)
    assert (listed["channel"], listed["state"], listed["title"]) == ("web", "active", "Help")
    assert "web      active" in site.run("channel", "list", bot).out
    assert f'data-bot="{bot}"' in site.json("channel", "snippet", bot)["snippet"]
    assert site.run("channel", "snippet", bot).out.startswith("<script src=")
    assert site.json("channel", "pause", bot, "web")["state"] == "paused"
    assert site.json("channel", "resume", bot, "web")["state"] == "active"
    usage_error(site.run("channel", "remove", bot, "web"), "add --yes")
    assert site.json("channel", "remove", bot, "web", "--yes")["removed"] is True
    assert "has no channel web" in site.refused("channel", "pause", bot, "web")


def test_tokens_come_from_files_and_are_masked(fresh: Site) -> None:
    (fresh.folder / "config.yaml").write_text(
        'egress: none\nchannels: {telegram: {api_url: "http://127.0.0.1:9"}, whatsapp: {graph_url: "http://127.0.0.1:9/v26.0"}}\n'
    )
    bot, token = fresh.bot(fresh.account()), fresh.folder / "token"
    token.write_text("\n")
    assert "is empty" in fresh.refused("channel", "set", bot, "telegram", "--token-file", token)
    token.write_text("123:secret-token\n")
    done = fresh.run("channel", "set", bot, "telegram", "--token-file", token, "--json")
    assert "warning: telegram could not confirm the token: egress: none" in done.err
    assert '"token": "***"' in done.out
    files = [part for name in ("token", "app-secret", "verify-token") for part in (f"--{name}-file", token)]
    made = json.loads(
        fresh.run("channel", "set", bot, "whatsapp", "--phone-number-id", "1", *files, "--monthly-limit", "100", "--json").out
    )
    assert (made["token"], made["app_secret"], made["verify_token"], made["monthly_limit"]) == ("***", "***", "***", 100)
    assert "secret-token" not in fresh.run("channel", "list", bot, "--json").out
    (sent,) = fresh.json("usage")["whatsapp"]
    assert (sent["bot"], sent["sent"], sent["beyond_free"], sent["monthly_limit"]) == (bot, 0, 0, 100)
    assert "beyond_free" in fresh.run("usage").out
    assert "digits alone" in fresh.refused("channel", "set", bot, "whatsapp", "--phone-number-id", "x")
    told = fresh.run("channel", "set", bot, "whatsapp", "--monthly-limit", "50").err
    assert f"/channels/whatsapp/{bot} with your verify token at Meta's" in told
    assert "warning: WhatsApp calls public https addresses alone" in told
    with (fresh.folder / "config.yaml").open("a") as file:
        file.write('server: {public_url: "https://chat.example.com"}\n')
    assert "https addresses" not in fresh.run("channel", "set", bot, "whatsapp", "--monthly-limit", "60").err


def test_a_conversation_is_taken_answered_and_released(fresh: Site) -> None:
    with fresh.serve():
        bot, _ = talk(fresh)
        (account,) = fresh.json("account", "list")
        fresh.json("operator", "add", "ada@example.com", "--account", account["id"], "--role", "editor", "--name", "Ada")
        conversation = fresh.json("conversation", "list", "--bot", bot)[0]
        assert conversation["handling"] == "bot"
        taken = fresh.json("conversation", "take", conversation["id"], "--as", "ada@example.com")
        assert (taken["handling"], taken["operator"]) == ("operator", "Ada")
        assert "Ada has the conversation" in fresh.refused("conversation", "take", conversation["id"])
        written = fresh.json("conversation", "reply", conversation["id"], "a person here")
        assert (written["message"]["role"], written["message"]["author"]) == ("operator", "Ada")
        shown = fresh.json("conversation", "show", conversation["id"])
        assert (shown["handling"], shown["messages"][-1]["content"]) == ("operator", "a person here")
        assert {"delivery", "error", "feedback", "author"} <= set(shown["messages"][-1])
        assert "operator (Ada)" in fresh.run("conversation", "show", conversation["id"]).out
        assert fresh.json("conversation", "take", conversation["id"], "--yes")["handling"] == "operator"
        assert fresh.json("conversation", "release", conversation["id"])["handling"] == "bot"
    fresh.serving = None
