"""How long the paths through the code are: none becomes longer unnoticed. scripts/bench/path.py has the bars that are aimed at."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "scripts" / "bench" / "path.py"
# Modules and functions that each act passes today.
TODAY = {
    "GET /chatbots": (15, 40),
    "message without a model": (46, 200),
    "message with a model": (42, 149),
    "form of the dashboard": (35, 109),
    "key create": (28, 72),
}
AIR = 1.1


@pytest.mark.usefixtures("unmeasured_processes")
def test_no_path_has_become_longer() -> None:
    done = subprocess.run([sys.executable, BENCH, "--json"], capture_output=True, text=True, timeout=120, check=False)
    figures = {bar["what"]: bar["figure"] for bar in json.loads(done.stdout)["bars"]}
    most = {
        f"{act}: {what}": AIR * count for act, counts in TODAY.items() for what, count in zip(("modules", "functions"), counts, strict=True)
    }
    assert figures.keys() == most.keys()
    assert {what: figure for what, figure in figures.items() if figure > most[what]} == {}
