"""Dates, times, e-mail addresses, telephone numbers and names in what a visitor writes, Turkish or English.

The conventions are DECISIONS.md section 5. Everything here is a pure function of its arguments: the clock comes from outside,
as the bot's local wall time, and the same text always gives the same answer. A text is folded (`tokens`), contact data is cut
out of it (`contacts`, `names`), the rest becomes a line of symbols over which the grammar is written (`date_rules`,
`time_rules`), and where several days or numbers are named, `wanted` says which one counts.
"""

from __future__ import annotations

from chatsvc.engines.reading.contacts import knows_country
from chatsvc.engines.reading.slots import KINDS, Reading, Slots, examine, read, read_answer
from chatsvc.engines.reading.yes_no import is_cancel, is_no, is_only_nod, is_yes

__all__ = ["KINDS", "Reading", "Slots", "examine", "is_cancel", "is_no", "is_only_nod", "is_yes", "knows_country", "read", "read_answer"]
