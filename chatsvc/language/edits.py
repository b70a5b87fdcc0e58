"""Edit distance between two words."""


def distance(one: str, other: str, limit: int) -> int:
    """Return the Damerau-Levenshtein distance; `limit` + 1 if it is greater than `limit`."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, start=1):
        previous, row, older = row, [i], before
        for j, right in enumerate(other, start=1):
            cost = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (left != right))
            if i > 1 and j > 1 and left == other[j - 2] and one[i - 2] == right:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
        before = previous
        if min(row) > limit:
            return limit + 1
    return row[-1]
