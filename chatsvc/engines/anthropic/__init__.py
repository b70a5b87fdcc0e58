"""The engine that asks a language model over the Anthropic Messages API, hosted or on-prem (DECISIONS.md section 3).

`prompt` makes the request, `sdk` sends it, `answer` reads what comes back, `faults` names what went wrong, `engine` binds
them under one deadline. Where a model may capture, `tools` says what it can call, `notes` checks what it brings, and `rounds`
goes to and fro between them. Only `sdk` imports the anthropic package, and only `engine` imports `sdk`, at first use.
"""

from __future__ import annotations

from chatsvc.engines.anthropic.engine import AnthropicEngine

__all__ = ["AnthropicEngine"]
