"""Benchmark of a crowd: 2,000 messages at once, each of another visitor, to the whole service with a model that takes 2 s.

No message fails, p99 is at most 2.7 s, and the memory at most 320 MB. An idle service without a model uses at most 60 MB.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from harness import Bar, Load, Report, ServerProcess, main, progress
from instance import instances, visitors
from standin import model, tier

CROWD, MODEL_S, ROUNDS = 2000, 2.0, 3
FORGET_S = 4.0
"""The service lets go of its connections to the model meanwhile, so that every round begins with none."""


async def bench() -> Report:
    report = Report()
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(model(delay_s=MODEL_S))
        (offline,) = stack.enter_context(instances(1))
        (instance,) = stack.enter_context(instances(1, tier(url)))
        with ServerProcess.serving(offline) as idle:
            await asyncio.sleep(2.0)
            report.bars.append(Bar("memory of an idle service without a model, MB", idle.rss_mb(), 60, least=False))
        server = stack.enter_context(ServerProcess.serving(instance))
        report.bars.append(Bar("memory with a tier that asks a model, idle, MB", server.rss_mb(), 125, least=False))
        crowd = Load("POST /messages", server, visitors(instance, 1), connections=CROWD)
        progress(f"{CROWD} callers connect")
        await crowd.connect()
        for number in range(ROUNDS):
            await asyncio.sleep(FORGET_S)
            progress(f"{CROWD} messages at once: round {number + 1} of {ROUNDS}")
            crowd.rounds.append(await crowd.run(0.0))
        report.bars += [
            Bar(f"p99 of {CROWD} messages at once on a model of {MODEL_S:g} s, seconds", crowd.quantile_ms(0.99) / 1000, 2.7, least=False),
            Bar("memory at its highest, MB", server.rss_mb("VmHWM"), 320, least=False),
        ]
        median, slowest = crowd.quantile_ms(0.5) / 1000, crowd.quantile_ms(1) / 1000
        report.notes.append(f"p50 {median:.2f} s, slowest {slowest:.2f} s; CPU of a message {crowd.cpu_us:.0f} us")
    return report


if __name__ == "__main__":
    main(__doc__ or "", bench)
