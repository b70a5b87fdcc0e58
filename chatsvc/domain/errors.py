"""Table of all errors of the interface (help/errors.md). Calling an error creates its exception."""

from __future__ import annotations

from typing import NamedTuple

from chatsvc import translations


class Because(NamedTuple):
    """Second sentence of an error message: the exact cause."""

    tr: str
    en: str


def because(cause: str, **values: object) -> Because:
    """Return a cause of `translations/causes.yaml` in both languages, with its values."""
    return Because(*(translations.template(language, f"causes.{cause}").format(**values) for language in Because._fields))


class Problem(NamedTuple):
    """One error code: status, names of extra fields, and whether the unchanged request may succeed later.

    `translations/problems.yaml` describes it in both languages, with the remedy. For an error with a `reason`, RETRYABLE_REASONS decides.
    """

    code: str
    status: int
    extra: tuple[str, ...] = ()
    retryable: bool = False

    def text(self, language: str) -> str:
        """Return the description in `language` ("tr" or "en"), or the remedy if `language` is "remedy"."""
        return translations.template(language, f"problems.{self.code}")

    def __call__(self, because: Because | None = None, **extra: object) -> ProblemError:
        """Return the exception to raise. `extra` must have exactly the fields of the table. A `reason` adds its own second sentence."""
        if extra.keys() != set(self.extra):
            raise TypeError(f"{self.code} carries {self.extra}, not {tuple(extra)}")
        if because is None and translations.has(cause := f"causes.{extra.get('reason')}"):
            because = Because(*(translations.template(language, cause) for language in Because._fields))
        return ProblemError(self, because, extra)


class ProblemError(Exception):
    """Exception that carries an error code of the interface."""

    def __init__(self, problem: Problem, because: Because | None, extra: dict[str, object]) -> None:
        super().__init__(problem.code)
        self.problem = problem
        self.because = because
        self.extra = extra

    def as_json(self) -> dict[str, object]:
        """Return the response body of help/interface.md 6."""
        problem, because = self.problem, self.because
        return {
            "success": False,
            "error": problem.code,
            "message": f"{problem.text('tr')} {because.tr}" if because else problem.text("tr"),
            "message_en": f"{problem.text('en')} {because.en}" if because else problem.text("en"),
            **self.extra,
        }


missing_api_key = Problem("missing_api_key", 401)
invalid_api_key = Problem("invalid_api_key", 401)
account_not_found = Problem("account_not_found", 401)
plan_required = Problem("plan_required", 403, ("required_plan", "feature", "plan"))
plan_upgrade_required = Problem("plan_upgrade_required", 403, ("required_plan", "feature", "plan"))
rate_limit_exceeded = Problem("rate_limit_exceeded", 429, ("limit", "window_seconds"), retryable=True)
unknown_endpoint = Problem("unknown_endpoint", 404, ("method", "path", "supported_endpoints"))
method_not_allowed = Problem("method_not_allowed", 405, ("allow",))
invalid_json = Problem("invalid_json", 400)
missing_chatbot_id = Problem("missing_chatbot_id", 400)
missing_message = Problem("missing_message", 400)
message_too_long = Problem("message_too_long", 400, ("max_chars",))
invalid_cursor = Problem("invalid_cursor", 400)
cursor_out_of_range = Problem("cursor_out_of_range", 400, ("max_offset",))
chatbot_not_found = Problem("chatbot_not_found", 404)
conversation_not_found = Problem("conversation_not_found", 404)
chatbot_inactive = Problem("chatbot_inactive", 409, ("chatbot_id",))
message_quota_exceeded = Problem("message_quota_exceeded", 402, ("reason",))
assistant_unavailable = Problem("assistant_unavailable", 502, ("reason",))
assistant_empty_reply = Problem("assistant_empty_reply", 502, ("reason",))
auth_backend_unavailable = Problem("auth_backend_unavailable", 503, retryable=True)
rate_limit_unavailable = Problem("rate_limit_unavailable", 503, retryable=True)
service_unavailable = Problem("service_unavailable", 503, retryable=True)
internal_error = Problem("internal_error", 500)

PROBLEMS: dict[str, Problem] = {problem.code: problem for problem in list(globals().values()) if isinstance(problem, Problem)}

# Reasons of a 402, and reasons why an engine gave no reply. The manual says what they mean (scripts/documentation.py).
QUOTA_REASONS = ("allowance_exhausted", "subscription_inactive")
RETRYABLE_REASONS = ("timeout", "unreachable", "overloaded", "rate_limited", "provider_error", "bad_response", "busy", "tool_loop", "empty")
REPLY_FAILURES = (
    "no_answer",
    *RETRYABLE_REASONS,
    *("refused", "context_exceeded", "truncated", "not_configured", "provider_auth", "model_not_found", "request_rejected"),
)


class CommandError(Exception):
    """A command, such as `serve`, cannot be carried out. The text is the reason, for the person at the terminal."""
