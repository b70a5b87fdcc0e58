"""Reading of dates, times, e-mail addresses, telephone numbers, names and languages in a visitor's text.

Turkish and English, by the conventions of the manual. All functions are pure: the clock is an argument, the same text gives the
same result. A text is folded (`folding`), contact data and the name are cut out of it (`contacts`, `names`), the rest becomes a
line of tokens (`tokenizer`) over which the grammar is written (`date_rules`, `time_rules`). Where several days or numbers are
named, `selection` decides which one is wanted.
"""

from __future__ import annotations

from chatsvc.engines.reading.contacts import knows_country, mask_contacts
from chatsvc.engines.reading.slots import KINDS, Reading, Slots, examine, read, read_answer
from chatsvc.engines.reading.yes_no import is_cancel, is_no, is_only_nod, is_yes

__all__ = [
    "KINDS", "Reading", "Slots", "examine", "is_cancel", "is_no", "is_only_nod", "is_yes", "knows_country", "mask_contacts", "read",
    "read_answer",
]  # fmt: skip
