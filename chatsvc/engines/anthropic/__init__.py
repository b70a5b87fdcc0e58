"""Engine with a language model behind the Anthropic Messages API. The model is hosted or on-prem.

`prompt` builds requests and `stable` caches their constant parts; `client` sends them by the provider's library to the server that
`provider` names; `answer` validates responses and `faults` classifies errors. `tools` defines the tools, `notes` executes their calls,
`review` checks replies (`grounding`, `claims`), and `rounds` runs the exchange. `engine` has the deadline and retries.
"""

from chatsvc.engines.anthropic.engine import AnthropicEngine
from chatsvc.engines.anthropic.provider import Provider

__all__ = ["AnthropicEngine", "Provider"]
