"""Classification of failed calls by the reasons that a 502 response gives. The functions are pure.

Details have only status codes, class names, the provider's error type and request id: an error's text may quote the prompt, and so
the visitor.
"""

import email.utils
import math
import re
import time
from collections.abc import Mapping

from chatsvc.engines import EngineError

MAX_ERROR_CHARS = 65_536  # characters of each text of an error that are examined
_BY_STATUS = {
    401: "provider_auth",
    402: "provider_auth",  # the account behind the key cannot pay
    403: "provider_auth",
    404: "model_not_found",
    408: "timeout",
    429: "rate_limited",
    503: "overloaded",  # llama.cpp while it loads the model, too
    504: "timeout",
    529: "overloaded",
}

# 500: vLLM, SGLang and older llama.cpp answer an over-long prompt with it.
_MAY_BE_TOO_LONG = frozenset({400, 413, 422, 500})

_TOO_LONG = re.compile(
    r"prompt is too long"  # Anthropic, SGLang
    r"|exceeds? (the )?context (limit|length|window|size)"  # Anthropic, Ollama
    r"|exceeds? the available context"  # llama.cpp
    r"|exceed_context_size|context_length_exceeded|context_?window_?exceeded"  # llama.cpp, OpenAI's kin, LiteLLM
    r"|maximum context length|model's (maximum )?context (length|limit|window)"  # vLLM, SGLang, OpenAI's kin
    r"|longer than the (maximum model length|model's context)|greater than max_model_len|too long to fit into the model"  # vLLM
    r"|is too long and exceeds limit|exceeds the maximum (length|number of tokens)"  # vLLM, SGLang
    r"|context (the )?overflows?|loaded with context length|greater than the context length"  # LM Studio
    r"|context (size|length|window) (has been )?exceeded|exceeds? (the )?model'?s? (maximum )?context"  # LM Studio, llama.cpp
)

# Errors of servers or models that cannot call tools; the same request without tools may succeed.
_NO_TOOLS = re.compile(
    r"(does not|doesn'?t|do not|not) support (tools?|tool[ _-]?(use|calls?|calling)|function[ _-]?calling)\b"  # Ollama, LiteLLM
    r"|(tools?|tool[ _-]?(use|calls?|calling)|function[ _-]?calling) (is|are) not (currently |yet )?supported"  # LM Studio, proxies
    r"|tools? param requires|tools? param is not|unsupported param: tools"  # llama.cpp without --jinja
    r"|--enable-auto-tool-choice|--tool-call-parser"  # vLLM, SGLang
    r"|does not support parameters: \['tools'"  # LiteLLM
    r"|no endpoints found that support tool use"  # OpenRouter
)

_PLAIN_WORD = re.compile(r"[A-Za-z_]{1,64}")
_REQUEST_ID = re.compile(r"req_[A-Za-z0-9]{1,64}")


class ModelFault(EngineError):
    """A failed call. If `retryable` is true, a retry may help, after `retry_after_s` seconds.

    If `no_tools` is true, the same call without tools may succeed. `status` is the HTTP status of the answer; `cause` is the exception
    with which the connection failed.
    """

    def __init__(
        self,
        reason: str,
        detail: str = "",
        *,
        retryable: bool = False,
        retry_after_s: float | None = None,
        no_tools: bool = False,
        status: int | None = None,
        cause: BaseException | None = None,
    ) -> None:
        super().__init__(reason, detail)
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.no_tools = no_tools
        self.status = status
        self.cause = cause


def of_status(status: int, headers: Mapping[str, str], body: object) -> ModelFault:
    """Classify an answer with a status other than 2xx; `body` is its JSON, or its text.

    Every 404 is `model_not_found`, as servers word it differently; the detail shows the operator whether the Messages API answered or
    something else at a wrong `base_url`. A redirect is `bad_response`: following it would send the key to another host.
    """
    no_tools = says_no_tools(body)
    if status in _MAY_BE_TOO_LONG and says_too_long(body):
        reason = "context_exceeded"
    elif status in _BY_STATUS:
        reason = _BY_STATUS[status]
    elif 400 <= status < 500:
        reason = "request_rejected"
    else:
        reason = "provider_error" if status >= 500 else "bad_response"
    parts = [f"HTTP {status}", error_type(body) or "(not an error of the Messages API: is base_url right?)"]
    if _REQUEST_ID.fullmatch(headers.get("request-id", "")):
        parts.append(headers["request-id"])
    # Anthropic's own verdict takes precedence.
    verdict = {"true": True, "false": False}.get(headers.get("x-should-retry", ""), status in (408, 409, 429) or status >= 500)
    return ModelFault(
        reason,
        " ".join(parts),
        retryable=verdict and reason != "context_exceeded" and not no_tools,
        retry_after_s=_retry_after_s(headers),
        no_tools=no_tools,
        status=status,
    )


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Read the seconds to wait from `retry-after-ms` or `retry-after` (seconds or a date), or return None without them."""
    raw = headers.get("retry-after", "")
    try:
        seconds = float(headers["retry-after-ms"]) / 1000 if "retry-after-ms" in headers else float(raw)
    except ValueError:
        try:
            date = email.utils.parsedate_tz(raw)
            seconds = email.utils.mktime_tz(date) - time.time() if date else math.nan
        except (ValueError, OverflowError):
            return None
    return None if math.isnan(seconds) else max(0.0, seconds)


def error_type(body: object) -> str:
    """Return the provider's error type, such as `invalid_request_error`, or "" if there is none."""
    error = body.get("error") if isinstance(body, dict) else None
    kind = error.get("type") if isinstance(error, dict) else None
    # Only a plain word: anything else could quote the request.
    return kind if isinstance(kind, str) and _PLAIN_WORD.fullmatch(kind) else ""


def says_too_long(body: object) -> bool:
    """Return whether a server's error means that the prompt exceeds the model's context."""
    return _TOO_LONG.search(_words(body)) is not None


def says_no_tools(body: object) -> bool:
    """Return whether an error means that this server or its model does not support tools."""
    return _NO_TOOLS.search(_words(body)) is not None


def _words(body: object) -> str:
    """Return the texts of an error in lower case, one a line. Other members of the body are left out, as they may quote the request."""
    members = [body]
    if isinstance(body, dict):
        error = body.get("error")
        members = [error, body.get("message"), body.get("detail")]
        members += [error.get(name) for name in ("message", "type", "code")] if isinstance(error, dict) else []
    return "\n".join(member[:MAX_ERROR_CHARS].lower() for member in members if isinstance(member, str))
