"""Engine with a language model behind the Anthropic Messages API. The model is hosted or on-prem.

`prompt` builds requests; `client` sends them by the provider's library to the server that `provider` names; `answer` validates
responses and `faults` classifies errors. `tools` defines the tools, `notes` executes their calls, `review` and `grounding` check
replies. `engine` runs the rounds of a message, with its deadline and retries.
"""

from chatsvc.engines.anthropic.engine import AnthropicEngine
from chatsvc.engines.anthropic.provider import Provider

__all__ = ["AnthropicEngine", "Provider"]
