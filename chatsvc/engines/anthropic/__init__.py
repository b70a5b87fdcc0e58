"""Engine with a language model behind the Anthropic Messages API. The model is hosted or on-prem (DECISIONS.md section 3).

`prompt` builds requests and `stable` caches their constant parts; `client` sends them over a `connection`; `answer` validates responses
and `faults` classifies errors. `tools` defines the tools, `notes` executes their calls, `review` checks replies (`grounding`, `claims`),
and `rounds` runs the exchange. `engine` has the deadline and retries, `pace` spreads the start of many calls. `sdk` queries a server
with the provider's own library, for `doctor`.
"""

from chatsvc.engines.anthropic.engine import AnthropicEngine

__all__ = ["AnthropicEngine"]
