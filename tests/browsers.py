"""The browser of the tests of pages, and the tools that check pages."""

import atexit
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

import pytest
from playwright.async_api import Browser, async_playwright

# scripts/test installs axe-core and html-validate here.
TOOLS = Path(os.environ.get("CHATSVC_TEST_TOOLS") or Path.home() / ".cache" / "chatsvc-test-tools")
# As playwright starts it, whose contexts block the storage of frames of other sites.
_OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync --disable-dev-shm-usage --disable-extensions --disable-back-forward-cache --disable-background-timer-throttling "
    "--disable-backgrounding-occluded-windows --disable-renderer-backgrounding --disable-ipc-flooding-protection --hide-scrollbars "
    "--force-color-profile=srgb --password-store=basic "
    "--disable-features=ThirdPartyStoragePartitioning,ImprovedCookieControls,HttpsUpgrades,PaintHolding,Translate"
)


@cache
def _endpoint() -> str:
    """Start Chromium once for all tests of this process; return the address at which it is driven."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    folder = tempfile.mkdtemp(prefix="chromium-")
    words = [program, "--remote-debugging-port=0", f"--user-data-dir={folder}", *_OPTIONS.split(), "about:blank"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    @atexit.register
    def _() -> None:
        process.terminate()
        process.wait(20)
        shutil.rmtree(folder, ignore_errors=True)

    assert process.stderr is not None
    address = next(line.split()[-1] for line in process.stderr if line.startswith("DevTools listening on"))
    threading.Thread(target=process.stderr.read, daemon=True).start()  # a full pipe would halt it
    return address


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Connect to a Chromium without a window, with contexts of its own. Skips the test where it is not installed."""
    async with async_playwright() as playwright:
        connected = await playwright.chromium.connect_over_cdp(_endpoint())
        yield connected
        await connected.close()


def tool(*path: str) -> Path:
    """Find a file of a tool. Skips the test where it is not installed."""
    file = TOOLS.joinpath("node_modules", *path)
    if not file.exists():
        pytest.skip(f"{path[-1]} is not installed: run scripts/test, with npm on this machine")
    return file
