"""Folded words of a text in one line, the form that patterns are searched in."""

from __future__ import annotations

import re

from chatsvc.language.folding import words

# The Turkish question particle typed together with the word before it: "varmı", "açıkmısınız".
_PARTICLE = re.compile(r"\b(var|yok|olur|acik|kapali|uygun|musait|bos|mumkun|gerek|lazim|dahil|ucretsiz|onaylandi|tamam|oldu)(m[iu]\w*)")


def line_of(text: str) -> str:
    """Return the folded words with a blank around each."""
    return _PARTICLE.sub(r"\1 \2", f" {' '.join(words(text))} ")
