"""Code that understands messages in any language. What a language brings is in languages/ (a folder each).

All functions are pure: the clock is an argument, the same text gives the same result. A text is folded (`folding`), contact data
and the name are cut out of it (`contacts`, `names`), the rest becomes a line of tokens (`tokenizer`) over which the grammar is
written (`dates`, `times`). Where several days or numbers are named, `selection` decides which one is wanted.
"""
