"""Tables of cases: .tsv files beside the tests. ¶ is a line break in a cell, ␀ and ␇ are control characters."""

import json
from pathlib import Path
from typing import Any


def rows(name: str) -> list[list[str]]:
    """Return the cells of each row of a table, such as unit/captures."""
    lines = (Path(__file__).parent / f"{name}.tsv").read_text("utf-8").splitlines()
    return [[cell.replace("¶", "\n").replace("␀", "\0").replace("␇", "\a") for cell in line.split("\t")] for line in lines]


def json_rows(name: str) -> list[list[Any]]:
    """Return the values of each row of a table whose cells are JSON."""
    return [[json.loads(cell) for cell in row] for row in rows(name)]
