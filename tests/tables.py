"""Tables of cases: .tsv files beside the tests. ¶ is a line break in a cell, ␀ and ␇ are control characters."""

from pathlib import Path


def rows(name: str) -> list[list[str]]:
    """Return the cells of each row of a table, such as unit/captures."""
    lines = (Path(__file__).parent / f"{name}.tsv").read_text("utf-8").splitlines()
    return [[cell.replace("¶", "\n").replace("␀", "\0").replace("␇", "\a") for cell in line.split("\t")] for line in lines]
