"""Code that understands messages in any language. The words of each language are in its folder of languages/.

All functions are pure: the clock is an argument, and the same text gives the same result. A text is folded (`folding`), contact data
and the name are cut out of it (`contacts`, `names`), and the rest becomes a line of tokens (`tokenizer`), to which grammar rules are
applied (`dates`, `times`). If a text names several days or numbers, `selection` decides which one the visitor means.
"""
