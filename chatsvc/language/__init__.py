"""Code that understands messages in any language. What a language brings is in languages/ (a folder each)."""
