"""`knowledge test` and `bot apply --test`: tests of a bot."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

from tests.cli.support import BOTH, Site, run

FAQ = Path(__file__).with_name("salon.md").read_text("utf-8")
BOT = Path(__file__).with_name("salon.yaml").read_text("utf-8")
FAILING = BOT.replace('"400 TL"', '"450 TL"').replace("decision: abstain", "decision: answer")


def folder_of(path: Path, bot: str = BOT) -> Path:
    """A folder with one bot and its knowledge."""
    folder = path / "bots"
    (folder / "kb").mkdir(parents=True, exist_ok=True)
    (folder / "kb" / "faq.md").write_text(FAQ, encoding="utf-8")
    (folder / "salon.yaml").write_text(bot, encoding="utf-8")
    return folder


def bot_of(site: Site, folder: Path, account: str) -> str:
    """A bot as the folder has it; its id."""
    bot = site.bot(account)
    site.json("bot", "apply", bot, str(folder / "salon.yaml"))
    site.json("knowledge", "add", bot, str(folder / "kb" / "faq.md"))
    return bot


def test_tests_run_from_a_file_without_an_installation_and_a_failing_one_says_why(tmp_path: Path) -> None:
    folder, junit = folder_of(tmp_path), tmp_path / "tests.xml"
    command = ("knowledge", "test", "--file", str(folder / "salon.yaml"), "--junit", str(junit))
    done = run(*command, "--json", cwd=tmp_path)
    assert (done.status, done.err) == (0, "")
    first, second, third = json.loads(done.out)
    assert list(first) == ["ask", "passed", "decision", "confidence", "entry", "reply", "why"]
    assert (first["passed"], first["decision"], first["entry"]) == (True, "answer", "How much is a haircut?")
    assert second["reply"] == "Yes, there is free parking behind the shop."
    assert (third["decision"], third["entry"]) == ("abstain", None)
    assert not (tmp_path / "data").exists()
    suite = ET.parse(junit).getroot()  # noqa: S314  # written by the command
    assert (suite.get("tests"), suite.get("failures"), suite[0].get("name")) == ("3", "0", "what does a haircut cost?")
    folder_of(tmp_path, FAILING)
    table = run(*command, cwd=tmp_path)
    assert (table.status, table.err) == (1, "chatsvc: 2 of 3 tests failed\n")
    failures = [case.find("failure") for case in ET.parse(junit).getroot()]  # noqa: S314  # written by the command
    reasons = [None if failure is None else failure.get("message") for failure in failures]
    assert reasons == ["the reply lacks '450 TL'", None, "the decision is abstain, not answer"]
    assert "the reply lacks '450 TL'" in table.out


@BOTH
def test_the_running_bot_is_tested_and_nothing_is_stored_or_charged(site: Site, tmp_path: Path) -> None:
    bot = bot_of(site, folder_of(tmp_path), site.account())
    results = site.json("knowledge", "test", bot)
    assert [result["passed"] for result in results] == [True, True, True]
    assert site.json("bot", "show", bot)["messages_used"] == 0
    assert site.json("conversation", "list", "--bot", bot) == []
    assert site.json("knowledge", "unanswered", bot) == []
    text = site.json("bot", "export", bot)["yaml"]
    assert '    contains:\n      - "FREE PARKING"\n      - "shop"\n    lacks: "400"\n' in text


def test_a_test_asks_the_dialogue_that_answers_visitors(tmp_path: Path) -> None:
    asked = (
        "thank you",
        "do you have parking, and how much is a haircut?",
        "can i cut my hair behind the parking?",
        "I want an appointment",
        "are you open on sundays?",
        "#\\#",
    )
    tests = "".join(f"  - {{ask: {json.dumps(question)}, lacks: '?!?'}}\n" for question in asked)
    site, folder = Site(tmp_path), folder_of(tmp_path, BOT + tests + "opening_hours: Mo-Fr 09:00-18:00\n")
    with site.serve() as serving:
        account = site.account()
        bot, token = bot_of(site, folder, account), site.key(account)
        results, refused = site.json("knowledge", "test", bot), list[bool]()
        assert json.loads(run("knowledge", "test", "--file", str(folder / "salon.yaml"), "--json").out) == results
        for result in results:
            answer = serving.ask(token, "POST", "/messages", {"chatbot_id": bot, "message": result["ask"]})
            refused.append(answer.status == 502)
            # What may be a wish is offered a form although the knowledge abstains.
            assert result["decision"] == "abstain" if refused[-1] else answer.json["data"]["reply"] == result["reply"]
    assert any(refused)
    assert {result["decision"] for result in results} == {"answer", "ask", "abstain", None}


def test_a_file_may_name_knowledge_of_the_current_folder(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    (folder / "below").mkdir()
    (folder / "below" / "bot.yaml").write_text(BOT.replace("kb/", "../kb/"), encoding="utf-8")
    for cwd, file, status in (
        (folder, "below/bot.yaml", 0),
        (folder / "below", "bot.yaml", 1),
        (tmp_path / "bots", "below/../salon.yaml", 0),
    ):
        done = run("knowledge", "test", "--file", file, cwd=cwd)
        assert done.status == status
        assert ("'../kb/*.md' leads out of the folder" in done.err) == (status == 1)


def test_apply_with_test_refuses_a_file_whose_tests_fail(site: Site, tmp_path: Path) -> None:
    account, folder = site.account(), folder_of(tmp_path)
    bot = bot_of(site, folder, account)
    before = site.json("bot", "show", bot)
    (folder / "salon.yaml").write_text(FAILING + "greeting: Hello\n", encoding="utf-8")
    done = site.run("bot", "apply", bot, str(folder / "salon.yaml"), "--test")
    assert done.status == 1
    assert "what does a haircut cost?: the reply lacks '450 TL'" in done.err
    assert site.json("bot", "show", bot) == before
    assert site.json("bot", "apply", bot, str(folder / "salon.yaml"))["greeting"] == "Hello"
    assert site.run("knowledge", "test", bot).status == 1
    (folder / "salon.yaml").write_text(BOT, encoding="utf-8")
    assert len(site.json("bot", "apply", bot, str(folder / "salon.yaml"), "--test")["tests"]) == 3
