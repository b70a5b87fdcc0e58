"""Findings of `doctor`, all in one table. A finding has a code and facts; each front end words it for its own users."""

from collections.abc import Mapping
from typing import NamedTuple

OK, WARNING, FAULT = "ok", "warning", "fault"


class Finding(NamedTuple):
    """The result of one check. `name` is what was checked; `state` is OK, WARNING (it works, but should not stay so) or FAULT."""

    code: str
    name: str
    state: str
    facts: Mapping[str, object]


class FindingCode(NamedTuple):
    """A row of the table; calling it makes the finding."""

    code: str
    name: str
    state: str
    facts: tuple[str, ...]

    def __call__(self, **facts: object) -> Finding:
        """Make the finding; raises TypeError unless exactly the declared facts are given."""
        if facts.keys() != set(self.facts):
            raise TypeError(f"{self.code} carries {self.facts}, not {tuple(facts)}")
        return Finding(self.code, self.name, self.state, facts)


CODES: dict[str, FindingCode] = {}


def _code(code: str, name: str, state: str, *facts: str) -> FindingCode:
    CODES[code] = finding_code = FindingCode(code, name, state, facts)
    return finding_code


configuration_invalid = _code("configuration_invalid", "configuration", FAULT, "fault")
configuration_unreadable = _code("configuration_unreadable", "configuration", FAULT, "file", "reason")
configuration_untrusted = _code("configuration_untrusted", "configuration", FAULT, "fault")
configuration_absent = _code("configuration_absent", "configuration", WARNING)
configuration_writable = _code("configuration_writable", "configuration", FAULT, "file")
configuration_exposed = _code("configuration_exposed", "configuration", WARNING, "file")
configuration_good = _code("configuration_good", "configuration", OK, "file")

folder_closed = _code("folder_closed", "data folder", FAULT, "file", "folder")
folder_missing = _code("folder_missing", "data folder", FAULT, "folder")
folder_is_file = _code("folder_is_file", "data folder", FAULT, "folder")
folder_exposed = _code("folder_exposed", "data folder", FAULT, "folder", "mode")
folder_mixed = _code("folder_mixed", "data folder", FAULT, "folder", "files")
folder_foreign = _code("folder_foreign", "data folder", FAULT, "folder")
folder_of_root = _code("folder_of_root", "data folder", WARNING, "folder", "user")
folder_read_only = _code("folder_read_only", "data folder", FAULT, "folder")
folder_good = _code("folder_good", "data folder", OK, "folder")

zones_old = _code("zones_old", "time zones", OK, "system", "shipped")
zones_good = _code("zones_good", "time zones", OK, "version")

# `free` is in bytes.
disk_full = _code("disk_full", "disk", FAULT, "folder", "free")
disk_without_inodes = _code("disk_without_inodes", "disk", FAULT, "folder")
disk_tight = _code("disk_tight", "disk", WARNING, "folder", "free")
disk_good = _code("disk_good", "disk", OK, "free")
temporary_missing = _code("temporary_missing", "temporary files", FAULT, "reason")
temporary_tight = _code("temporary_tight", "temporary files", WARNING, "folder", "free")
temporary_good = _code("temporary_good", "temporary files", OK, "folder")

database_absent = _code("database_absent", "database", WARNING, "file")
database_closed = _code("database_closed", "database", FAULT, "file")
database_unreadable = _code("database_unreadable", "database", FAULT, "file", "reason")
database_newer = _code("database_newer", "database", FAULT, "file", "reason")
database_damaged = _code("database_damaged", "database", FAULT, "file", "problems")
database_unchecked = _code("database_unchecked", "database", WARNING, "file", "seconds")
database_good = _code("database_good", "database", OK, "file", "schema")
postgres_unusable = _code("postgres_unusable", "database", FAULT, "reason")
postgres_newer = _code("postgres_newer", "database", FAULT, "reason")
postgres_loses = _code("postgres_loses", "database", FAULT, "setting", "value")
postgres_rights = _code("postgres_rights", "database", FAULT)
postgres_clock = _code("postgres_clock", "database", WARNING, "seconds")
postgres_connections = _code("postgres_connections", "database", WARNING, "used", "most")
postgres_unencrypted = _code("postgres_unencrypted", "database", WARNING)
postgres_empty = _code("postgres_empty", "database", WARNING)
postgres_good = _code("postgres_good", "database", OK, "version", "schema")
sqlite_good = _code("sqlite_good", "SQLite", OK, "version")
sqlite_old = _code("sqlite_old", "SQLite", OK, "version")
knowledge_empty = _code("knowledge_empty", "knowledge", WARNING, "bot")
texts_gone = _code("texts_gone", "texts", WARNING, "bot", "texts")

master_key_missing = _code("master_key_missing", "master key", FAULT, "file")
master_key_exposed = _code("master_key_exposed", "master key", FAULT, "file")
master_key_invalid = _code("master_key_invalid", "master key", FAULT, "file")
master_key_other = _code("master_key_other", "master key", FAULT)
master_key_configured = _code("master_key_configured", "master key", OK)
master_key_good = _code("master_key_good", "master key", OK, "file")

clock_early = _code("clock_early", "clock", FAULT, "time")
clock_behind = _code("clock_behind", "clock", FAULT, "time", "newest")
clock_good = _code("clock_good", "clock", OK, "time")

backups_unscheduled = _code("backups_unscheduled", "backups", WARNING)
backups_read_only = _code("backups_read_only", "backups", FAULT, "folder", "place", "user")
backups_none = _code("backups_none", "backups", WARNING, "folder")
backups_late = _code("backups_late", "backups", FAULT, "last")
backups_good = _code("backups_good", "backups", OK, "count", "folder", "last")

service_stopped = _code("service_stopped", "service", WARNING)
service_silent = _code("service_silent", "service", FAULT, "seconds")
service_unwilling = _code("service_unwilling", "service", WARNING, "reason")
service_running = _code("service_running", "service", OK, "where")
store_fault = _code("store_fault", "store", FAULT, "fault")
egress_opened = _code("egress_opened", "egress", OK, "counts")
egress_refused = _code("egress_refused", "egress", OK, "counts")

listener_free = _code("listener_free", "listener", OK, "where")
listener_taken = _code("listener_taken", "listener", FAULT, "where", "reason")
listener_foreign = _code("listener_foreign", "listener", FAULT, "where", "reason")
listener_forbidden = _code("listener_forbidden", "listener", FAULT, "where", "reason")
listener_unusable = _code("listener_unusable", "listener", FAULT, "where", "reason")
listener_folder_missing = _code("listener_folder_missing", "listener", FAULT, "file", "folder")
listener_folder_closed = _code("listener_folder_closed", "listener", FAULT, "file", "folder")
listener_possible = _code("listener_possible", "listener", OK, "file")
public_url_port = _code("public_url_port", "public_url", WARNING, "url", "port")
public_url_scheme = _code("public_url_scheme", "public_url", WARNING, "url", "scheme")

certificate_unusable = _code("certificate_unusable", "certificate", FAULT, "file", "key_file", "reason")
certificate_expired = _code("certificate_expired", "certificate", FAULT, "file", "day")
certificate_early = _code("certificate_early", "certificate", FAULT, "file")
certificate_for_others = _code("certificate_for_others", "certificate", FAULT, "file", "host")
certificate_ending = _code("certificate_ending", "certificate", WARNING, "file", "day")
certificate_good = _code("certificate_good", "certificate", OK, "file", "day")

model_without_key = _code("model_without_key", "model server", WARNING)
model_lacks_packages = _code("model_lacks_packages", "model server", FAULT, "platform")
model_address_invalid = _code("model_address_invalid", "model server", FAULT, "reason")
model_name_unknown = _code("model_name_unknown", "model server", FAULT, "host", "reason")
model_untrusted = _code("model_untrusted", "model server", FAULT, "where", "reason")
model_unreachable = _code("model_unreachable", "model server", FAULT, "where", "reason")
model_refuses_key = _code("model_refuses_key", "model server", FAULT, "url", "status")
model_without_interface = _code("model_without_interface", "model server", FAULT, "url", "status")
model_troubled = _code("model_troubled", "model server", WARNING, "url", "status")
model_lacks = _code("model_lacks", "model server", WARNING, "url", "models", "offered")
model_good = _code("model_good", "model server", OK, "url")
model_complete = _code("model_complete", "model server", OK, "url")

authorities_unusable = _code("authorities_unusable", "webhooks", FAULT, "section", "file", "reason")
webhook_refused = _code("webhook_refused", "webhooks", FAULT, "bot", "reason")
webhook_unresolved = _code("webhook_unresolved", "webhooks", FAULT, "bot", "reason")
webhook_good = _code("webhook_good", "webhooks", OK, "bot", "host")

channel_token_refused = _code("channel_token_refused", "channels", FAULT, "bot", "channel")
channel_unreachable = _code("channel_unreachable", "channels", FAULT, "channel", "reason")
channel_unverified = _code("channel_unverified", "channels", WARNING, "bot", "channel")
channel_silent = _code("channel_silent", "channels", WARNING, "bot", "channel", "days")
channel_token_elsewhere = _code("channel_token_elsewhere", "channels", FAULT, "bot", "channel")

mail_good = _code("mail_good", "mail", OK, "where")
mail_unencrypted = _code("mail_unencrypted", "mail", WARNING, "where")
mail_unknown = _code("mail_unknown", "mail", FAULT, "where")
mail_unreachable = _code("mail_unreachable", "mail", FAULT, "where", "reason")
mail_untrusted = _code("mail_untrusted", "mail", FAULT, "where", "answer")
mail_without_starttls = _code("mail_without_starttls", "mail", FAULT, "where")
mail_without_password = _code("mail_without_password", "mail", FAULT, "where")
mail_without_login = _code("mail_without_login", "mail", FAULT, "where")
mail_refuses_login = _code("mail_refuses_login", "mail", FAULT, "where", "answer")
mail_troubled = _code("mail_troubled", "mail", FAULT, "where", "answer")

team_good = _code("team_good", "notices", OK)
team_without_token = _code("team_without_token", "notices", FAULT)
team_token_refused = _code("team_token_refused", "notices", FAULT, "answer")
notices_token_elsewhere = _code("notices_token_elsewhere", "notices", FAULT)
team_chat_refused = _code("team_chat_refused", "notices", FAULT, "chat", "answer")
team_unreachable = _code("team_unreachable", "notices", FAULT, "reason")

examination_unfinished = _code("examination_unfinished", "examination", WARNING, "seconds")
