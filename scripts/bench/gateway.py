"""The work of a gateway, as fast as it goes: key, limit, allowance, a model that answers at once, usage record, durable write, reply.

At least 1,070 messages a second with at most 111 MB, the server on one core: ten times as many as LiteLLM's proxy, which only checks a
key and stores nothing, with a third of its memory (107 a second and 334 MB on the machine that the bars were set on, with the same
stand-in model). Each message is from a visitor of its own; the figures hold for one machine, as those of crowd.py do.
"""

from __future__ import annotations

from contextlib import AsyncExitStack

from crowd import visitors
from harness import Bar, Load, Report, ServerProcess, interleave, main
from instance import instances
from standin import model, tier

ROUNDS, SECONDS = 9, 1.5


async def bench() -> Report:
    """See the module's docstring."""
    report = Report()
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(model())
        (made,) = stack.enter_context(instances(1, models=tier(url)))
        server = stack.enter_context(
            ServerProcess("-m", "chatsvc", "-c", str(made.config), "serve", "--json", log=made.config.with_name("log"))
        )
        load = Load("POST /messages through a model", server, visitors(made), varies=True)
        await interleave([load], ROUNDS, SECONDS)
        report.bars += [
            Bar("messages a second", load.per_s, 1070),
            Bar("memory, MB", server.rss_mb(), 111, least=False),
        ]
        report.loads.append(load)
    return report


if __name__ == "__main__":
    main(__doc__ or "", bench)
