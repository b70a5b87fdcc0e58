"""Refusals as sentences of the command line, with its commands and options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from chatsvc.domain.refusals import Refused
from chatsvc.domain.terminal import one_line

# Sentences of faults are imported where one is worded: every command imports this module.
_FIELDS = {
    "account.name": "the account's name",
    "bot.name": "the bot's name",
    "site.max_pages": "--max-pages",
    "site.every": "--every",
    "site.pattern": "a pattern of --include or --exclude",
    "key.name": "the key's name",
    "operator.name": "the operator's name",
}
_HOW_TO_WRITE_A_TIME = "write 2026-11-20 or 2026-11-20T08:00 (UTC)"


def _no_bots(facts: Mapping[str, Any]) -> str:
    plan, most = facts["plan"], facts["most"]
    if plan is None:
        return "no more bots: the account has no plan"
    return f"no more bots: the plan {plan} has {most} bot{'' if most == 1 else 's'}, and the account has as many"


def _faults_of_bot_file(facts: Mapping[str, Any]) -> str:
    from chatsvc.domain import bot_file_faults

    def line(fault: Mapping[str, Any]) -> str:
        place = f":{fault['line']}:{fault['column']}" if fault["line"] else ""
        return f"{fault.get('file', facts['file'])}{place}: {bot_file_faults.sentence(fault['code'], fault['facts'])}"

    return "\n".join(map(line, facts["faults"]))


def _several(facts: Mapping[str, Any]) -> str:
    return "; ".join(sentence(Refused(one["code"], **one["facts"])) for one in facts["faults"])


def _failed_tests(facts: Mapping[str, Any]) -> str:
    return "\n".join(["tests fail:", *(f"{one['ask']}: {one['why']}" for one in facts["outcomes"])])


def _faults_of_settings(facts: Mapping[str, Any]) -> str:
    from chatsvc.domain import bot_file_faults

    return "\n".join(f"{one['field']}: {bot_file_faults.sentence(one['code'], one['facts'])}" for one in facts["faults"])


def _faults_of_files(facts: Mapping[str, Any]) -> str:
    from chatsvc.domain.knowledge_files.faults import FileFault

    return "\n".join(
        f"{one_line(one['file'])}, {one['unit']} {one['line']}: {FileFault(one['line'], one['code'], one['facts']).text}"
        for one in facts["faults"]
    )


def _faults_of_entry(facts: Mapping[str, Any]) -> str:
    from chatsvc.domain.knowledge_files.faults import FileFault

    return "\n".join(FileFault(**one).text for one in facts["faults"])


def _opening_hours(facts: Mapping[str, Any]) -> str:
    from chatsvc.domain import opening_hours

    return f"the opening hours cannot be read: {opening_hours.sentence(facts['fault'], facts['facts'])}"


# A template of the facts, or a function of them.
SENTENCES: dict[str, str | Callable[[Mapping[str, Any]], str]] = {
    "forbidden": "{operation} takes the role {role}",
    "account_not_found": "there is no account {account}",
    "bot_not_found": "there is no bot {bot}",
    "key_not_found": "there is no key {key}",
    "source_not_found": "the bot has no entries of the source {source}",
    "entry_not_found": "the bot has no entry {entry}",
    "attempt_not_found": "there is no attempt {attempt}",
    "request_not_found": "there is no request {request}",
    "appointment_not_found": "there is no appointment {appointment}",
    "conversation_not_found": "there is no conversation {conversation}",
    "sentence_not_found": "the dialogue has no sentence {sentence}",
    "form_not_found": "there is no form {form}",
    "question_not_found": "there is no unanswered question {question}",
    "webhook_not_found": "the bot {bot} has no webhook: set one with `chatsvc webhook set`",
    "no_accounts": "there is no account yet: make one with `chatsvc account create NAME`",
    "account_needed": "there are {count} accounts: say which one with --account ID (`chatsvc account list` shows them)",
    "several": _several,
    "text_empty": "{field} must not be empty",
    "text_too_long": "{field} may have {most} characters at most, this one has {length}",
    "text_unprintable": "{field} must not hold control characters",
    "text_invalid": "{field} must not hold NUL characters",
    "number_out_of_range": "{field} must be from 0 to {most}",
    "nothing_to_change": "nothing to change was given",
    "confirmation_needed": "this cannot be undone: confirm it",
    "status_unknown": "the status {status!r} is none of {known}",
    "plan_unknown": "there is no plan {plan!r}; the configuration has {plans}",
    "tier_unknown": "there is no model tier {tier!r}; the configuration has {tiers}",
    "timezone_unknown": "{timezone!r} is no time zone; one is written like Europe/Istanbul",
    "country_unknown": "{country!r} is no country; one is written with two letters, like TR",
    "language_invalid": "{language!r} is no language tag; one is written like tr or en-GB",
    "opening_hours_invalid": _opening_hours,
    "bot_file_invalid": _faults_of_bot_file,
    "bot_settings_invalid": _faults_of_settings,
    "bot_tests_failed": _failed_tests,
    "test_not_found": "the bot has no test {test}",
    "fallback_invalid": "{fallback!r} is no fallback; there are knowledge and none",
    "time_invalid": f"{{time!r}} is no time; {_HOW_TO_WRITE_A_TIME}",
    "time_passed": "{time} has passed already",
    "position_invalid": "{position!r} is no position in this list",
    "operator_not_found": "there is no operator {email}",
    "operator_exists": "there is an operator {email} already: change it with `chatsvc operator set`, or make a new link with"
    " `chatsvc operator link`",
    "operator_shared": "{email} works for other accounts too: only an administrator may do this",
    "last_administrator": "{email} is the last administrator: make another one first with `chatsvc operator add EMAIL --admin`",
    "email_invalid": "{email!r} is no e-mail address; one is written like ada@example.com",
    "role_missing": "say --admin, or give an account with --role ({roles}) and --account ID",
    "role_unknown": "the role {role!r} is none of {known}",
    "notice_unknown": "the notice {notice!r} is none of {known}",
    "notice_for_owners": "{email} cannot get the notice {notice!r}: it is for administrators, and for owners of an account (--role owner)",
    "operator_language_unknown": "the dashboard has no language {language!r}; it has {known}",
    "password_too_short": "a password has at least {least} characters",
    "password_too_long": "a password has at most {most} characters",
    "password_common": "this password is easy to guess: choose words that do not belong together",
    "password_is_email": "the password must not be the e-mail address",
    "password_wrong": "the present password is not right",
    "sign_in_failed": "e-mail address or password are not right",
    "too_many_attempts": "too many attempts: try again in {retry_after} s",
    "link_for_oneself": "choose a new password for yourself with your present one",
    "link_invalid": "this link was used, has expired, or is not right",
    "session_needed": "sign in first",
    "session_not_found": "there is no session {session}",
    "code_wrong": "the code is not right, or was used already",
    "second_factor_on": "the second factor is on already",
    "second_factor_off": "the second factor is off",
    "bots_exhausted": _no_bots,
    "plan_without_webhooks": "the account's plan {plan} has no webhooks; {plans} have",
    "files_same_name": "two files have the same name, by which a file is replaced later: {names}",
    "too_many_pieces": "the file has {count} pieces; up to {most} can be looked at one by one",
    "files_missing": "no file was given",
    "files_invalid": _faults_of_files,
    "entry_invalid": _faults_of_entry,
    "change_not_found": "there is no change {change}",
    "preview_not_found": "there is no preview {preview}: it may be too old",
    "change_not_undoable": "the change {change} was taken back already, or later changes touch the same entries: take those back first",
    "reader_closed": "reading the files was ended",
    "reader_unavailable": "the process that reads files cannot be started: {fault}",
    "event_unknown": "the event {event!r} cannot be chosen; there are {events}",
    "events_missing": "choose an event: {events}",
    "site_not_found": "there is no website {site}",
    "site_not_added": "the bot has the website {url} already, or {most} others",
    "site_without_draft": "no draft waits for the website {site}",
    "target_refused": "the address is refused: {fault}",
    "mail_not_set_up": "mail is not set up: give the server under `notices.smtp` in the configuration",
    "webhook_pulled": "this webhook only keeps its events (--pull): there is no address to send a test to",
    "attempt_under_way": "the attempt {attempt} is still under way",
    "signing_key_unusable": "the signing key of the bot {bot} cannot be opened, since it was sealed with another master key or has been"
    " changed: make a new one with `chatsvc webhook rotate`, or export without --with-secrets",
    "service_stopping": "the service is stopping; `chatsvc webhook attempts` shows what was sent",
    "visitor_busy": "an answer to this visitor is under way: try again in a moment",
    "saved_reply_not_found": "there is no saved reply {name!r}",
    "saved_replies_exhausted": "an account has {most} saved replies at most: remove one first",
    "conversation_taken": "{operator} has the conversation {conversation}: add --yes to take it over",
    "operator_without_role": "{email} does not have the role {role} in this account",
    "minutes_out_of_range": "{field} must be from 1 to {most} minutes",
    "channel_unknown": "there is no channel {channel!r}; there are {known}",
    "channel_not_found": "the bot {bot} has no channel {channel}: set it with `chatsvc channel set`",
    "channel_setting_unfitting": "the channel {channel} has no setting {settings}",
    "channel_incomplete": "the channel {channel} needs {missing}: see `chatsvc channel set --help`",
    "channel_window_closed": "the visitor of {conversation} wrote more than 24 hours ago, and WhatsApp takes no message until they write"
    " again",
    "channel_paused": "the channel {channel} of the bot {bot} is paused: resume it with `chatsvc channel resume`",
    "channel_secret_missing": "the channel {channel} of the bot {bot} has no secret: give it with `chatsvc channel set`",
    "channel_secret_unusable": "the secret of the channel {channel} of the bot {bot} cannot be opened, since it was sealed with another"
    " master key or has been changed: give it again with `chatsvc channel set`, or export without --with-secrets",
    "channel_taken": "another bot has this account at {channel}: remove its channel first",
    "site_invalid": "{site!r} is no site; one is written like https://shop.example.com, without a path, or any-link",
    "too_many_sites": "a widget may have {most} sites at most",
    "color_invalid": "{color!r} is no colour; one is written like #336699",
    "web_address_invalid": "{address!r} is no web address; one is written like https://example.com/privacy",
    "phone_number_id_invalid": "{phone_number_id!r} is no id of a phone number; it has digits alone",
    "token_invalid": "the file does not hold a token of {channel}",
    "token_refused": "{channel} refuses the token: {fault}",
    "import_exists": "there is an account {account} already",
    "import_not_begun": "the account {account} is not being imported",
    "import_second_account": "the file has more than one account",
    "import_plan_unknown": "the account is on the plan {plan!r}; the configuration has {plans}",
    "import_tier_unknown": "a bot is on the model tier {tier!r}; the configuration has {tiers}",
    "import_unfitting": "a record of the kind {kind} does not fit: it is here already, or what it belongs to is not",
    "import_kind_unknown": "the file has a record of the kind {kind!r}, which this version does not know",
    "import_fields_wrong": "the file has a record of the kind {kind} with a field {field!r} too many or too few",
    "import_value_wrong": "the file has a record of the kind {kind} whose {field} cannot be",
    "master_key_configured": "the configuration gives the master key (master_key): put a new one into a file (openssl rand -hex 32) and"
    " name it with --new-key-file",
    "master_key_changing": "the master key is being changed already",
    "master_key_unwritable": "the new master key cannot be written: {fault}",
    "folder_in_use": "a chatsvc is running on {folder}: stop it first",
    "backup_not_found": "there is no backup {backup}",
    "backup_folder_unusable": "the folder of backups {folder} cannot be used: {fault}",
    "backup_unreadable": "{fault}",
    "backup_unwritable": "the backup cannot be restored: {fault}",
    "backup_faulty": "the backup has faults: {faults}",
    "backup_key_missing": "the master key that this backup belongs to is not here: give it with --master-key-file",
    "backup_key_differs": "the configuration gives another master key (master_key) than this backup belongs to: change it there first",
    "store_copy_configured": "the configuration has store.url already: the copy is made of the SQLite file, before store.url is set",
    "store_copy_nothing": "there is no store to copy: {database} does not exist",
    "store_target_used": "{store} is not empty: there are rows in its table {table}; name an empty database",
    "store_target_other": "{store} holds the unfinished copy of another installation or of another version: name an empty database",
    "store_target_busy": "a process works on {store}: stop it first",
    "store_copy_differs": "the table {table} differs, since the source was changed after the copy began: run it again, it begins anew",
    "store_copy_unfit": "PostgreSQL cannot hold the row with the key {key} of the table {table}: one of its texts has NUL characters",
    "restore_wal_alone": "{database}-wal lies in {folder} without its database, and holds the last of what was written: move it to where"
    " {database} was moved to",
    "restore_over_damage": "{fault}; to restore all the same, move {database}* into another folder first",
    "restore_over_newer": "the store in {folder} is newer than the backup: something happened there at {changed_at}, the backup is of"
    " {made_at}; to restore all the same, move {database}* into another folder first",
    "operation_unknown": "the running chatsvc does not know {operation!r}: is it of another version?",
    "argument_not_unicode": "an argument is not valid UTF-8",
    "folder_held": "another chatsvc holds {folder} and does not answer",
    "store_unavailable": "the store cannot answer: {fault}",
    "unexpected_fault": "an unexpected error occurred; the service's log has it whole",
}


def sentence(refusal: Refused) -> str:
    """Word a refusal. One of a newer service, whose code is not known here, is named by its code."""
    template = SENTENCES.get(refusal.code)
    if template is None:
        return f"the service refuses: {refusal}"
    if callable(template):
        return template(refusal.facts)
    return template.format(**{name: _shown(name, value) for name, value in refusal.facts.items()})


def _shown(name: str, value: object) -> object:
    if isinstance(value, list):
        return ("; " if name == "faults" else ", ").join(map(str, value))
    if value is None:
        return "none"
    return _FIELDS.get(value, value) if name == "field" and isinstance(value, str) else value
