"""kill -9 while mails are queued and sent: none is lost, none is sent twice, and those in doubt are `unknown`."""

import asyncio
import signal
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.support import Serving, Site
from tests.crash.channel_torture import rows
from tests.crash.test_webhooks import captures
from tests.engines.model_server import ModelServer
from tests.mail.smtp_server import Mailbox, smtp_server

PATIENCE_S = 60
OPERATORS = [f"{name}@example.com" for name in ("ada", "bora", "cem")]
REQUESTS = 3


class Installation:
    """An installation whose operators want notices of requests, and its mail server."""

    def __init__(self, folder: Path, model: ModelServer, mailbox: Mailbox) -> None:
        self.mailbox = mailbox
        self.site = Site(
            folder,
            f'engines: {{anthropic: {{base_url: "{model.url}", api_key: none-needed, timeout_s: 20}}}}\n'
            "models: {m: {engine: anthropic, model: m, input_usd_per_mtok: 1, output_usd_per_mtok: 2}}\n"
            f"notices: {{smtp: {{host: 127.0.0.1, port: {mailbox.port}, from: desk@example.com, security: none}}}}\n",
        )
        account = self.site.account()
        self.bot, self.key = self.site.bot(account), self.site.key(account)
        for email in OPERATORS:
            self.site._made("operator.add", email=email, account=account, role="editor")
        rows(self.site, """UPDATE operators SET notices = '["request"]'""")
        rows(self.site, "DELETE FROM mails")  # the invitations

    def ask(self, serving: Serving) -> None:
        for number in range(REQUESTS):
            body = {"chatbot_id": self.bot, "message": f"Call me back: visitor{number}@example.com", "user_id": f"visitor {number}"}
            answer = serving.ask(self.key, "POST", "/messages", body)
            assert (answer.status, answer.json["data"]["reply"]) == (200, "Noted.")

    def states(self) -> Counter[str]:
        return Counter(state for (state,) in rows(self.site, "SELECT state FROM mails"))

    async def kill_during(self, command: str, *, asks: bool = False) -> None:
        """Run the service until the mail server leaves a command unanswered, and kill it then."""
        self.mailbox.replies, seen = {command: "silence"}, len(self.mailbox.unanswered)
        with await asyncio.to_thread(self.site.serve) as serving:
            if asks:
                await asyncio.to_thread(self.ask, serving)
            async with asyncio.timeout(PATIENCE_S):
                while len(self.mailbox.unanswered) == seen:  # noqa: ASYNC110  # the server has no event for it
                    await asyncio.sleep(0.02)
            serving.process.send_signal(signal.SIGKILL)
            await asyncio.to_thread(serving.process.wait)

    async def finish(self) -> None:
        """Run the service until no mail waits."""
        self.mailbox.replies = {}
        with await asyncio.to_thread(self.site.serve) as serving:
            async with asyncio.timeout(PATIENCE_S):
                while await asyncio.to_thread(self.states) != {"sent": len(OPERATORS) - 2, "unknown": 2}:  # noqa: ASYNC110  # another process
                    await asyncio.sleep(0.1)
            assert await asyncio.to_thread(serving.end) == 0


@pytest.mark.usefixtures("unmeasured_processes")
@pytest.mark.slow
async def test_after_kill_9_each_mail_was_sent_once_or_is_unknown(tmp_path: Path) -> None:
    async with ModelServer(always=captures) as model, smtp_server(Mailbox()) as mailbox:
        installation = await asyncio.to_thread(Installation, tmp_path, model, mailbox)
        await installation.kill_during("EHLO", asks=True)
        assert (installation.states(), mailbox.recipients) == ({"queued": len(OPERATORS)}, [])
        # The server has the whole message and has not taken it; then it has taken one, and the service does not know.
        await installation.kill_during("DATA")
        assert (installation.states(), mailbox.recipients) == ({"sending": 1, "queued": len(OPERATORS) - 1}, [])
        await installation.kill_during("AFTER")
        assert installation.states() == {"unknown": 1, "sending": 1, "queued": len(OPERATORS) - 2}
        (attempted,) = mailbox.recipients
        await installation.finish()
        mails = {
            recipient: (state, error) for recipient, state, error in rows(installation.site, "SELECT recipient, state, error FROM mails")
        }
        assert rows(installation.site, "SELECT DISTINCT causes, count(*) FROM mails GROUP BY recipient") == [(REQUESTS, 1)]
        assert sorted(mails) == OPERATORS, "none is lost"
        assert mails[attempted] == ("unknown", "interrupted")
        assert set(Counter(mailbox.recipients).values()) == {1}, "none is sent twice"
        assert set(mailbox.recipients) == {attempted, *(recipient for recipient, (state, _) in mails.items() if state == "sent")}
        assert "Traceback" not in installation.site.log.read_text()
