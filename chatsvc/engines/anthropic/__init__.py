"""The engine that asks a language model over the Anthropic Messages API, hosted or on-prem (DECISIONS.md section 3).

`prompt` makes the request, of which `stable` is what seldom changes, `client` sends it over a `connection`, `answer` reads what comes
back, `faults` names what went wrong, `engine` binds them under one deadline, and `pace` has many begin one after another.
Where a model may capture, `tools` says what it can call, `notes` checks what it brings, and `rounds` goes to and fro between them.
`sdk` asks a server by the provider's own library, for people who look at an installation.
"""

from __future__ import annotations

from chatsvc.engines.anthropic.engine import AnthropicEngine

__all__ = ["AnthropicEngine"]
