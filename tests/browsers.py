"""The browser of the tests of pages, and the tools that check pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, async_playwright

# scripts/test installs axe-core and html-validate here.
TOOLS = Path(os.environ.get("CHATSVC_TEST_TOOLS") or Path.home() / ".cache" / "chatsvc-test-tools")
_OPTIONS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync"
)


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Run Chromium without a window. Skips the test where it is not installed."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(executable_path=program, args=_OPTIONS.split())
        yield opened
        await opened.close()


def tool(*path: str) -> Path:
    """Find a file of a tool. Skips the test where it is not installed."""
    file = TOOLS.joinpath("node_modules", *path)
    if not file.exists():
        pytest.skip(f"{path[-1]} is not installed: run scripts/test, with npm on this machine")
    return file
