"""Direction of texts on pages: a text of a stranger does not turn round what stands behind it."""

import re

_ISOLATE_ENDS, _OTHER_ENDS = "\u2069", "\u202c"
# Embeddings, overrides and isolates, each with the character that ends it.
_ENDS = dict.fromkeys("\u202a\u202b\u202d\u202e", _OTHER_ENDS) | dict.fromkeys("\u2066\u2067\u2068", _ISOLATE_ENDS)
_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")


def closed(text: str) -> str:
    """End within a text what its bidirectional control characters begin."""
    found = _CONTROLS.findall(text)
    if not found:
        return text
    ends: list[str] = []
    for control in found:
        if control in _ENDS:
            ends.append(_ENDS[control])
        elif control == _ISOLATE_ENDS and control in ends:
            # It ends the embeddings inside the isolate too.
            while ends.pop() != control:
                pass
        elif ends[-1:] == [control]:
            ends.pop()
    return text + "".join(reversed(ends))
