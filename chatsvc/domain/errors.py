"""Every error of the interface in one table (SPEC.md section 7).

Calling an entry makes the exception, so a misspelt code is a type error.
"""

from __future__ import annotations

from typing import NamedTuple


class Because(NamedTuple):
    """Second sentence of an error message: the exact cause."""

    tr: str
    en: str


class Problem(NamedTuple):
    """One error code: status, descriptions in both languages, remedy, names of extra fields."""

    code: str
    status: int
    tr: str
    en: str
    remedy: str
    extra: tuple[str, ...] = ()

    def __call__(self, because: Because | None = None, **extra: object) -> ProblemError:
        """Return the exception to raise, with exactly the extra fields of SPEC.md section 7."""
        if extra.keys() != set(self.extra):
            raise TypeError(f"{self.code} carries {self.extra}, not {tuple(extra)}")
        return ProblemError(self, because, extra)


class ProblemError(Exception):
    """Exception that carries an error code of the interface."""

    def __init__(self, problem: Problem, because: Because | None, extra: dict[str, object]) -> None:
        super().__init__(problem.code)
        self.problem = problem
        self.because = because
        self.extra = extra

    def as_json(self) -> dict[str, object]:
        """Return the response body of SPEC.md section 7."""
        problem, because = self.problem, self.because
        return {
            "success": False,
            "error": problem.code,
            "message": f"{problem.tr} {because.tr}" if because else problem.tr,
            "message_en": f"{problem.en} {because.en}" if because else problem.en,
            **self.extra,
        }


missing_api_key = Problem(
    "missing_api_key",
    401,
    tr="API anahtarı gönderilmedi. İsteğe “Authorization: Bearer <API_KEY>” başlığını ekleyin.",
    en="No API key was sent. Add the header “Authorization: Bearer <API_KEY>” to the request.",
    remedy="Check the header. Ask the operator for a key. Do not repeat the request unchanged.",
)
invalid_api_key = Problem(
    "invalid_api_key",
    401,
    tr="API anahtarı geçersiz. Anahtar tanınmıyor, hatalı yazılmış, süresi dolmuş ya da iptal edilmiş.",
    en="The API key is not valid. It is unknown, malformed, expired or revoked.",
    remedy="Check the header. Ask the operator for another key. Do not repeat the request unchanged.",
)
account_not_found = Problem(
    "account_not_found",
    401,
    tr="Bu API anahtarının bağlı olduğu hesap artık yok.",
    en="The account that this API key belonged to no longer exists.",
    remedy="Ask the operator for another key. Do not repeat the request unchanged.",
)
plan_required = Problem(
    "plan_required",
    403,
    tr="Hesabın etkin bir planı yok. API’yi kullanmak için bir plan gerekir.",
    en="The account has no active plan. A plan is required to use the API.",
    remedy="Ask the operator for that plan (`account set --plan`).",
    extra=("required_plan", "feature", "plan"),
)
plan_upgrade_required = Problem(
    "plan_upgrade_required",
    403,
    tr="Hesabın planı API erişimini içermiyor. Planın yükseltilmesi gerekir.",
    en="The account’s plan does not include the API. The plan has to be upgraded.",
    remedy="Ask the operator for that plan (`account set --plan`).",
    extra=("required_plan", "feature", "plan"),
)
rate_limit_exceeded = Problem(
    "rate_limit_exceeded",
    429,
    tr="Bu API anahtarının dakikalık istek sınırı aşıldı. “Retry-After” başlığındaki süre kadar bekleyip yeniden deneyin.",
    en="The per-minute request limit of this API key is exceeded. Wait as long as the “Retry-After” header says and try again.",
    remedy="Wait as many seconds as the header `Retry-After` says.",
    extra=("limit", "window_seconds"),
)
unknown_endpoint = Problem(
    "unknown_endpoint",
    404,
    tr="Böyle bir uç nokta yok. Desteklenenler “supported_endpoints” alanındadır.",
    en="There is no such endpoint. The supported ones are listed in “supported_endpoints”.",
    remedy="Correct the path; it has no slash at its end.",
    extra=("method", "path", "supported_endpoints"),
)
method_not_allowed = Problem(
    "method_not_allowed",
    405,
    tr="Bu uç nokta bu HTTP yöntemini desteklemiyor. İzin verilenler “allow” alanındadır.",
    en="This endpoint does not support this HTTP method. The ones it accepts are listed in “allow”.",
    remedy="Use one of the methods in `allow`.",
    extra=("allow",),
)
invalid_json = Problem(
    "invalid_json",
    400,
    tr="İstek okunamadı: gövdesi geçerli bir JSON nesnesi olmalıdır.",
    en="The request could not be read: its body must be a valid JSON object.",
    remedy="Correct the request; `message_en` names the field.",
)
missing_chatbot_id = Problem(
    "missing_chatbot_id",
    400,
    tr="“chatbot_id” alanı zorunludur ve metin olmalıdır.",
    en="The field “chatbot_id” is required and must be a string.",
    remedy="Send it, as a string.",
)
missing_message = Problem(
    "missing_message",
    400,
    tr="“message” alanı zorunludur; boş olmayan bir metin olmalıdır.",
    en="The field “message” is required and must be a string that is not empty.",
    remedy="Send it, as a string that is not empty.",
)
message_too_long = Problem(
    "message_too_long",
    400,
    tr="Mesaj çok uzun. İzin verilen en fazla karakter sayısı “max_chars” alanındadır.",
    en="The message is too long. The most characters allowed are given in “max_chars”.",
    remedy="Shorten the message.",
    extra=("max_chars",),
)
invalid_cursor = Problem(
    "invalid_cursor",
    400,
    tr="Sayfalama imleci okunamadı. Yalnızca “next_cursor” alanında aldığınız değeri, aynı sorguyla geri gönderin.",
    en="The cursor could not be read. Send back only a value received as “next_cursor”, with the same query.",
    remedy="Start at the first page again. Send back only a received cursor, with the same filters.",
)
cursor_out_of_range = Problem(
    "cursor_out_of_range",
    400,
    tr="En fazla 10.000 kayıt derinliğine kadar sayfalanabilir. Daha dar bir filtre kullanın.",
    en="Paging ends at a depth of 10,000 records. Use a narrower filter.",
    remedy="Filter by `chatbot_id` or `channel`.",
    extra=("max_offset",),
)
chatbot_not_found = Problem(
    "chatbot_not_found",
    404,
    tr="Hesapta bu kimlikle bir sohbet botu yok.",
    en="There is no chatbot with this id in the account.",
    remedy="Check the id. Bots of other accounts are not found either.",
)
conversation_not_found = Problem(
    "conversation_not_found",
    404,
    tr="Hesapta bu kimlikle bir konuşma yok.",
    en="There is no conversation with this id in the account.",
    remedy="Check the id. Conversations of other accounts are not found either.",
)
chatbot_inactive = Problem(
    "chatbot_inactive",
    409,
    tr="Sohbet botu etkin değil ve mesaj kabul etmiyor.",
    en="The chatbot is inactive and accepts no messages.",
    remedy="Ask the operator (`bot activate`).",
    extra=("chatbot_id",),
)
message_quota_exceeded = Problem(
    "message_quota_exceeded",
    402,
    tr="Aylık mesaj hakkı doldu ya da abonelik etkin değil.",
    en="The monthly message allowance is used up or the subscription is not active.",
    remedy="Ask the operator (`account set --credits`, `--messages-limit` or `--status active`), or wait for the next month."
    " `reason` is `allowance_exhausted` or `subscription_inactive`.",
    extra=("reason",),
)
assistant_unavailable = Problem(
    "assistant_unavailable",
    502,
    tr="Bot şu anda yanıt üretemedi. Yeniden deneyebilirsiniz.",
    en="The bot could not produce a reply. You may try again.",
    remedy="Act on `reason`, see below. It is not charged.",
    extra=("reason",),
)
assistant_empty_reply = Problem(
    "assistant_empty_reply",
    502,
    tr="Model boş bir yanıt döndürdü. Mesaj gönderilmiş sayılmadı.",
    en="The model returned an empty reply. The message is not counted as sent.",
    remedy="Act on `reason`, see below. It is not charged.",
    extra=("reason",),
)
auth_backend_unavailable = Problem(
    "auth_backend_unavailable",
    503,
    tr="API anahtarı şu anda doğrulanamıyor; istek güvenlik gereği reddedildi. Yeniden deneyin.",
    en="The API key cannot be verified at the moment; the request was refused to be on the safe side. Try again.",
    remedy="Repeat after a second, then with growing pauses.",
)
rate_limit_unavailable = Problem(
    "rate_limit_unavailable",
    503,
    tr="İstek sayacı şu anda çalışmıyor; istekler sayılamadığı için reddediliyor. Yeniden deneyin.",
    en="The request counter is down; requests are refused because they cannot be counted. Try again.",
    remedy="Repeat after a second, then with growing pauses.",
)
service_unavailable = Problem(
    "service_unavailable",
    503,
    tr="Hizmet şu anda yanıt veremiyor. Kısa bir süre sonra yeniden deneyin.",
    en="The service cannot respond at the moment. Try again shortly.",
    remedy="Repeat after a second, then with growing pauses.",
)
internal_error = Problem(
    "internal_error",
    500,
    tr="Beklenmeyen bir hata oluştu.",
    en="An unexpected error occurred.",
    remedy="Tell the operator, with the `X-Request-Id`.",
)

PROBLEMS: dict[str, Problem] = {problem.code: problem for problem in list(globals().values()) if isinstance(problem, Problem)}

# Reasons why an engine gave no reply: reason -> (meaning, remedy), both for the manual.
REPLY_FAILURES: dict[str, tuple[str, str]] = {
    "no_answer": ("The bot's knowledge has no answer.", "Show a sentence of your own, or let a person answer."),
    "timeout": ("The model server did not answer within the deadline.", "Repeat with the same Idempotency-Key and growing pauses."),
    "unreachable": ("No connection to the model server.", "Repeat with the same Idempotency-Key and growing pauses."),
    "overloaded": ("The model server is overloaded.", "Repeat with the same Idempotency-Key and growing pauses."),
    "rate_limited": ("The model server limits its requests.", "Repeat with the same Idempotency-Key and growing pauses."),
    "provider_error": ("The model server reported a fault of its own.", "Repeat with the same Idempotency-Key and growing pauses."),
    "bad_response": ("The model server's answer could not be read.", "Repeat with the same Idempotency-Key and growing pauses."),
    "busy": ("An earlier message of the conversation used up the deadline.", "Repeat with the same Idempotency-Key."),
    "refused": ("The model declined to answer.", "Ask in other words."),
    "context_exceeded": ("The conversation is too long for the model.", "Shorten the message, or continue with another `user_id`."),
    "tool_loop": ("The model called tools without coming to an end.", "Repeat once."),
    "empty": ("The reply was empty.", "Repeat once."),
    "truncated": ("The reply reached the model's length limit.", "Repeat once, or ask for less."),
    "not_configured": ("The bot's tier has no model server or no key.", "Tell the operator; `chatsvc doctor` names the fault."),
    "provider_auth": ("The model server refused the key.", "Tell the operator; `chatsvc doctor` names the fault."),
    "model_not_found": ("The model server does not have the model.", "Tell the operator; `chatsvc doctor` names the fault."),
    "request_rejected": ("The model server refused the request as invalid.", "Tell the operator; `chatsvc doctor` names the fault."),
}


class CommandError(Exception):
    """A command, `serve` among them, cannot be carried out. The text says why, for the person at the terminal."""
