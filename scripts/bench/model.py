"""Conversations with a model that answers by a script: prints what is sent, what the tools return, what is noted and what is shown.

For a reader who changes the prompt or the tools. The conversations stand in tests/engines/model_talks.yaml; a word in the arguments
chooses those whose names have it.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.engines.model_talks import TALKS, replay


async def main() -> None:
    """Print each conversation, and the size of its prompts."""
    for talk in TALKS:
        if len(sys.argv) > 1 and not any(word in talk.name for word in sys.argv[1:]):
            continue
        print(f"\n== {talk.name}")
        for outcome in await replay(talk):
            print(f"> {outcome.message}")
            for result in outcome.results:
                print(f"  tool: {result}")
            print(f"< {outcome.reply}")
            for record in outcome.records[-1:]:
                moment = f"{record.date or ''} {record.time or ''}"
                print(f"  noted: {record.kind} {record.status} {moment} {record.visitor_name} {record.visitor_phone}")
                print("         " + record.message.replace("\n", "\n         "))
            sent = sum(len(str(body["system"])) + len(str(body["messages"])) for body in outcome.bodies)
            print(f"  {len(outcome.bodies)} requests, {sent:,} characters")


if __name__ == "__main__":
    asyncio.run(main())
