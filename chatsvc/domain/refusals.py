"""Table of the reasons for which operations are refused. Each is a code with facts. The front ends have a sentence for each code."""

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import NamedTuple


class Refused(Exception):
    """An administrative operation was refused; `facts` are plain data."""

    def __init__(self, code: str, **facts: object) -> None:
        super().__init__(code, facts)
        self.code = code
        self.facts = facts

    def __str__(self) -> str:
        """Return code and facts, for logs and tests."""
        return f"{self.code} {self.facts}" if self.facts else self.code


class RefusalCode(NamedTuple):
    """A row of the table: the code and the names of its facts. Calling the row makes the exception."""

    code: str
    facts: tuple[str, ...]

    def __call__(self, **facts: object) -> Refused:
        """Return the exception to raise. Raises TypeError unless exactly the declared facts are given."""
        if facts.keys() != set(self.facts):
            raise TypeError(f"{self.code} carries {self.facts}, not {tuple(facts)}")
        return Refused(self.code, **facts)


@dataclass
class Faults(AbstractContextManager["Faults"]):
    """Collector of refusals of several values, so that they can be raised at once. Each check runs in a `with` block of the collector."""

    refusals: list[Refused] = field(default_factory=list)

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, traceback: TracebackType | None) -> bool:
        """Store a refusal that the check has raised, and suppress the exception."""
        if isinstance(fault, Refused):
            self.refusals.append(fault)
        return isinstance(fault, Refused)

    def refuse(self) -> None:
        """Raise the collected refusals: a single one as it is, more than one as `several`."""
        if len(self.refusals) > 1:
            raise several(faults=[{"code": fault.code, "facts": fault.facts} for fault in self.refusals])
        if self.refusals:
            raise self.refusals[0]


CODES: dict[str, RefusalCode] = {}


def _code(code: str, *facts: str) -> RefusalCode:
    return CODES.setdefault(code, RefusalCode(code, facts))


# Permission and scope. A record outside the caller's scope is "not found" too.
forbidden = _code("forbidden", "operation", "role")
account_not_found = _code("account_not_found", "account")
bot_not_found = _code("bot_not_found", "bot")
key_not_found = _code("key_not_found", "key")
entry_not_found = _code("entry_not_found", "entry")
source_not_found = _code("source_not_found", "source")
attempt_not_found = _code("attempt_not_found", "attempt")
request_not_found = _code("request_not_found", "request")
appointment_not_found = _code("appointment_not_found", "appointment")
conversation_not_found = _code("conversation_not_found", "conversation")
sentence_not_found = _code("sentence_not_found", "sentence")
form_not_found = _code("form_not_found", "form")
question_not_found = _code("question_not_found", "question")
site_not_found = _code("site_not_found", "site")
site_not_added = _code("site_not_added", "url", "most")
site_without_draft = _code("site_without_draft", "site")
webhook_not_found = _code("webhook_not_found", "bot")
no_accounts = _code("no_accounts")
account_needed = _code("account_needed", "count")

# Several values. Each fault has the code and the facts of its refusal.
several = _code("several", "faults")
# Values. `field` is the name of an argument, or of the record and the argument, such as "bot.name".
text_empty = _code("text_empty", "field")
model_missing = _code("model_missing")
trial_account_inactive = _code("trial_account_inactive", "status")
trials_too_many = _code("trials_too_many", "most", "retry_after")
text_too_long = _code("text_too_long", "field", "most", "length")
text_unprintable = _code("text_unprintable", "field")
text_invalid = _code("text_invalid", "field")
number_out_of_range = _code("number_out_of_range", "field", "most")
nothing_to_change = _code("nothing_to_change")
confirmation_needed = _code("confirmation_needed")
status_unknown = _code("status_unknown", "status", "known")
date_unknown = _code("date_unknown", "date")
labels_exhausted = _code("labels_exhausted", "most")
snooze_out_of_range = _code("snooze_out_of_range", "days")
time_unknown = _code("time_unknown", "time")
appointment_changed = _code("appointment_changed")
fields_changed = _code("fields_changed", "fields")  # each with its current text
appointment_time_refused = _code("appointment_time_refused", "date", "time", "days")
plan_unknown = _code("plan_unknown", "plan", "plans")
tier_unknown = _code("tier_unknown", "tier", "tiers")
timezone_unknown = _code("timezone_unknown", "timezone")
country_unknown = _code("country_unknown", "country")
language_invalid = _code("language_invalid", "language")
opening_hours_invalid = _code("opening_hours_invalid", "fault", "facts")
phone_invalid = _code("phone_invalid", "phone")
fallback_invalid = _code("fallback_invalid", "fallback")
# Each fault with code and facts: of a file with line and column, of a form with the path of its field.
bot_file_invalid = _code("bot_file_invalid", "file", "faults")
bot_tests_failed = _code("bot_tests_failed", "outcomes")  # each with ask and why
test_not_found = _code("test_not_found", "test")
bot_settings_invalid = _code("bot_settings_invalid", "faults")
time_invalid = _code("time_invalid", "time")
time_passed = _code("time_passed", "time")
position_invalid = _code("position_invalid", "position")

# Operators and their sessions. `sign_in_failed` is the same for an unknown e-mail address and a wrong password.
operator_not_found = _code("operator_not_found", "email")
operator_exists = _code("operator_exists", "email")
operator_shared = _code("operator_shared", "email")
last_administrator = _code("last_administrator", "email")
email_invalid = _code("email_invalid", "email")
role_missing = _code("role_missing", "roles")
role_unknown = _code("role_unknown", "role", "known")
notice_unknown = _code("notice_unknown", "notice", "known")
notice_for_owners = _code("notice_for_owners", "email", "notice")
operator_language_unknown = _code("operator_language_unknown", "language", "known")
password_too_short = _code("password_too_short", "least")
password_too_long = _code("password_too_long", "most")
password_common = _code("password_common")
password_is_email = _code("password_is_email")
password_wrong = _code("password_wrong")
sign_in_failed = _code("sign_in_failed")
too_many_attempts = _code("too_many_attempts", "retry_after")
link_for_oneself = _code("link_for_oneself")
link_invalid = _code("link_invalid")
session_needed = _code("session_needed")
session_not_found = _code("session_not_found", "session")
code_wrong = _code("code_wrong")
second_factor_on = _code("second_factor_on")
second_factor_off = _code("second_factor_off")

# Plans.
bots_exhausted = _code("bots_exhausted", "plan", "most")
plan_without_webhooks = _code("plan_without_webhooks", "plan", "plans")

# Knowledge.
files_same_name = _code("files_same_name", "names")
files_missing = _code("files_missing")
too_many_pieces = _code("too_many_pieces", "count", "most")
files_invalid = _code("files_invalid", "faults")  # each with file, unit, line, code and facts
entry_invalid = _code("entry_invalid", "faults")  # each with line (0, or the number of a phrasing), code and facts
change_not_found = _code("change_not_found", "change")
preview_not_found = _code("preview_not_found", "preview")
change_not_undoable = _code("change_not_undoable", "change")
reader_closed = _code("reader_closed")
reader_unavailable = _code("reader_unavailable", "fault")

# Webhooks.
event_unknown = _code("event_unknown", "event", "events")
events_missing = _code("events_missing", "events")
target_refused = _code("target_refused", "fault", "rule")
mail_not_set_up = _code("mail_not_set_up")
webhook_pulled = _code("webhook_pulled", "bot")
attempt_under_way = _code("attempt_under_way", "attempt")
signing_key_unusable = _code("signing_key_unusable", "bot")
service_stopping = _code("service_stopping")

# Conversations.
visitor_busy = _code("visitor_busy")
saved_reply_not_found = _code("saved_reply_not_found", "name")
saved_replies_exhausted = _code("saved_replies_exhausted", "most")
conversation_taken = _code("conversation_taken", "conversation", "operator")
operator_without_role = _code("operator_without_role", "email", "role")
minutes_out_of_range = _code("minutes_out_of_range", "field", "most")
count_out_of_range = _code("count_out_of_range", "field", "most")

# Channels.
channel_unknown = _code("channel_unknown", "channel", "known")
channel_not_found = _code("channel_not_found", "bot", "channel")
channel_setting_unfitting = _code("channel_setting_unfitting", "channel", "settings")
channel_incomplete = _code("channel_incomplete", "channel", "missing")
channel_window_closed = _code("channel_window_closed", "conversation")
channel_paused = _code("channel_paused", "bot", "channel")
channel_secret_missing = _code("channel_secret_missing", "bot", "channel")
channel_secret_unusable = _code("channel_secret_unusable", "bot", "channel")
channel_taken = _code("channel_taken", "channel")
site_invalid = _code("site_invalid", "site")
too_many_sites = _code("too_many_sites", "most")
color_invalid = _code("color_invalid", "color")
logo_invalid = _code("logo_invalid", "most")
web_address_invalid = _code("web_address_invalid", "address")
phone_number_id_invalid = _code("phone_number_id_invalid", "phone_number_id")
token_invalid = _code("token_invalid", "channel")
token_refused = _code("token_refused", "channel", "fault")

# Import of an account.
import_exists = _code("import_exists", "account")
import_not_begun = _code("import_not_begun", "account")
import_second_account = _code("import_second_account")
import_plan_unknown = _code("import_plan_unknown", "plan", "plans")
import_tier_unknown = _code("import_tier_unknown", "tier", "tiers")
import_unfitting = _code("import_unfitting", "kind")
import_kind_unknown = _code("import_kind_unknown", "kind")
import_fields_wrong = _code("import_fields_wrong", "kind", "field")
import_value_wrong = _code("import_value_wrong", "kind", "field")

# Master key and backups.
master_key_configured = _code("master_key_configured")
master_key_invalid = _code("master_key_invalid")
master_key_changing = _code("master_key_changing")
master_key_unwritable = _code("master_key_unwritable", "fault")
folder_in_use = _code("folder_in_use", "folder")
backup_not_found = _code("backup_not_found", "backup")
backup_folder_unusable = _code("backup_folder_unusable", "folder", "fault")
backup_unreadable = _code("backup_unreadable", "fault")
backup_unwritable = _code("backup_unwritable", "fault")
backup_faulty = _code("backup_faulty", "faults")
backup_key_missing = _code("backup_key_missing")
backup_key_differs = _code("backup_key_differs")
store_copy_configured = _code("store_copy_configured")
store_copy_nothing = _code("store_copy_nothing", "database")
store_target_used = _code("store_target_used", "store", "table")
store_target_other = _code("store_target_other", "store")
store_target_busy = _code("store_target_busy", "store")
store_copy_differs = _code("store_copy_differs", "table")
store_copy_unfit = _code("store_copy_unfit", "table", "key")
restore_wal_alone = _code("restore_wal_alone", "folder", "database")
restore_over_damage = _code("restore_over_damage", "fault", "database")
restore_over_newer = _code("restore_over_newer", "folder", "database", "changed_at", "made_at")

# The way to the running service.
operation_unknown = _code("operation_unknown", "operation")
argument_not_unicode = _code("argument_not_unicode")
request_unreadable = _code("request_unreadable")
argument_unknown = _code("argument_unknown", "argument")
argument_of_wrong_type = _code("argument_of_wrong_type", "argument")
folder_held = _code("folder_held", "folder")
store_unavailable = _code("store_unavailable", "fault")
unexpected_fault = _code("unexpected_fault")
