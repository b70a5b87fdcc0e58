"""`chatsvc knowledge site`, and kill -9 in the middle of a reading. With the pause of a second between two pages."""

import asyncio
import signal
from pathlib import Path

from tests.cli.support import Site, usage_error
from tests.websites.server import WebsiteServer
from tests.websites.test_reading import page


async def test_a_reading_that_is_killed_leaves_the_knowledge_whole_and_goes_on(tmp_path: Path, server: WebsiteServer) -> None:
    site = Site(tmp_path, "models: {offline: {engine: knowledge}}\nwebsite: {allowed_networks: [127.0.0.0/8]}")
    server.pages = {"/": page(("Open?", "From 9.")) + '<a href="/a">a</a>', "/a": page(("Dogs?", "No."))}
    reached = asyncio.Event()
    server.when_asked = lambda path: reached.set() if path == "/" else None

    def prepare() -> str:
        bot = site.bot(site.account())
        (tmp_path / "faq.md").write_text("## Pay?\n\nCash.\n")
        site.json("knowledge", "add", bot, tmp_path / "faq.md")
        usage_error(site.run("knowledge", "site", "add", bot), "Missing argument")
        assert "is not on the public internet" in site.refused("knowledge", "site", "add", bot, "http://10.0.0.1")
        added = site.json("knowledge", "site", "add", bot, server.url, "--max-pages", "9", "--every", "0", "--exclude", "/x/*")
        assert (added["state"], added["url"], added["exclude"], added["review"]) == ("reading", server.url, ["/x/*"], True)
        return bot

    bot = await asyncio.to_thread(prepare)
    serving = await asyncio.to_thread(site.serve)
    async with asyncio.timeout(30):
        await reached.wait()
    await asyncio.to_thread(serving.end, signal.SIGKILL)

    def go_on() -> None:
        ((website,), entries) = site.json("knowledge", "site", "list", bot), site.json("knowledge", "list", bot)
        assert (website["state"], [entry["question"] for entry in entries]) == ("reading", ["Pay?"])
        read = site.json("knowledge", "site", "sync", website["id"])
        assert (read["state"], read["changes"]) == ("review", {"added": 2, "changed": 0, "removed": 0, "kept": 0})
        shown = site.json("knowledge", "site", "show", website["id"])
        assert shown["pages"] == [
            {"url": server.url, "state": "read", "reason": None, "entries": 1},
            {"url": f"{server.url}a", "state": "read", "reason": None, "entries": 1},
        ]
        assert [entry["question"] for entry in shown["difference"]["added"]] == ["Open?", "Dogs?"]
        output = site.run("knowledge", "site", "show", website["id"]).out
        assert f"Dogs? ({server.url}a)" in output
        assert site.json("knowledge", "site", "apply", website["id"])["state"] == "idle"
        sources = {entry["question"]: entry["source"] for entry in site.json("knowledge", "list", bot)}
        assert sources == {"Pay?": "faq.md", "Open?": server.url, "Dogs?": f"{server.url}a"}
        assert "no draft waits" in site.refused("knowledge", "site", "discard", website["id"])
        server.down = True
        failed = site.refused_with("knowledge", "site", "sync", website["id"])
        assert (failed["state"], failed["reason"]) == ("failed", "robots_unavailable")
        usage_error(site.run("knowledge", "site", "remove", website["id"]), "add --yes")
        assert site.json("knowledge", "site", "remove", website["id"], "--yes")["removed"]
        assert [entry["question"] for entry in site.json("knowledge", "list", bot)] == ["Pay?"]
        assert "there is no website" in site.refused("knowledge", "site", "show", website["id"])

    await asyncio.to_thread(go_on)
