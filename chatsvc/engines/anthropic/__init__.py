"""The engine that asks a language model over the Anthropic Messages API, hosted or on-prem (DECISIONS.md section 3).

`prompt` makes the request, `sdk` sends it, `answer` reads what comes back, `faults` names what went wrong, `engine` binds
them under one deadline. Only `sdk` imports the anthropic package, and only `engine` imports `sdk`, at first use.
"""

from __future__ import annotations

from chatsvc.engines.anthropic.engine import AnthropicEngine

__all__ = ["AnthropicEngine"]
