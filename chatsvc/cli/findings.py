"""Findings of `doctor` as sentences of the command line. The finding, and for all but good ones the remedy."""

from __future__ import annotations

from typing import NamedTuple

from chatsvc.doctor.report import Finding


class Words(NamedTuple):
    """The templates of a finding and its remedy."""

    found: str
    remedy: str | None = None


_BACK = "stop the service, move {file}* into another folder, and put the last backup back: chatsvc backup restore FILE"
_TEMPORARY = "or set TMPDIR to another folder: `backup verify` and the single binary need one"
_CLOCK = "set the clock, best by NTP: timedatectl set-ntp true"
_LISTEN = "cannot listen on {where}: {reason}"
_PUBLIC_URL = "set server.public_url to how callers reach the service; left out, it follows from server.listen"
_RENEW = "renew it; the running service takes the new file up by itself"
_TARGET = "set another address: chatsvc webhook set (bot {bot!r})"

SENTENCES: dict[str, Words] = {
    "configuration_invalid": Words("{fault}", "mend the file at the place that is named; config.example.yaml shows all settings"),
    "configuration_unreadable": Words("{file}: {reason}", "name a file that can be read: -c FILE, or $CHATSVC_CONFIG"),
    "configuration_untrusted": Words("{fault}", "keep configuration and data in folders that root or the service's user alone may write"),
    "configuration_absent": Words("no file: everything has its default", "make one with: chatsvc init"),
    "configuration_writable": Words("everybody may write {file}", "chmod o-w {file}"),
    "configuration_closed": Words("the service's user {user} may not read {file}", "chgrp {user} {file} and chmod 640 {file}"),
    "configuration_exposed": Words("everybody may read {file}, which holds secrets", "chmod o-r {file}"),
    "configuration_good": Words("{file}"),
    "folder_closed": Words("{file} may not be looked at", "run the command as the owner of {folder} or as root"),
    "folder_missing": Words("{folder} is not there", "make it with: chatsvc init (or see data_dir in the configuration)"),
    "folder_is_file": Words("{folder} is no folder", "move it away, or set data_dir to another folder"),
    "folder_exposed": Words("others may enter {folder} (mode {mode})", "chmod 700 {folder}"),
    "folder_mixed": Words("not everything in {folder} belongs to its owner: {files}", "chown -R --reference={folder} {folder}"),
    "folder_foreign": Words("{folder} belongs to another user", "run the command as its owner or as root"),
    "folder_of_root": Words(
        "{folder} belongs to root, but the service's user is {user}", "if systemd starts the service: chown -R {user}:{user} {folder}"
    ),
    "folder_read_only": Words("{folder} cannot be written", "make its file system writable, or mend its rights: chmod 700"),
    "folder_good": Words("{folder}"),
    "disk_full": Words("{gib:.1f} GiB free", "make room on the disk of {folder}: without it no message can be written"),
    "disk_without_inodes": Words("no inodes left", "remove files on the disk of {folder}"),
    "disk_tight": Words("{gib:.1f} GiB free", "make room on the disk of {folder}"),
    "disk_good": Words("{gib:.1f} GiB free"),
    "temporary_missing": Words("{reason}", f"chmod 1777 /tmp and make room in it, {_TEMPORARY}"),
    "temporary_tight": Words("{mib} MiB free in {folder}", f"make room there, {_TEMPORARY}"),
    "temporary_good": Words("{folder}"),
    "database_absent": Words("{file} is not there yet", "it is made by the first command; or put a backup back: backup restore"),
    "database_closed": Words("{file} cannot be read and written", "mend its rights: chmod 600, chown to the data folder's owner"),
    "database_unreadable": Words("{file}: {reason}", _BACK),
    "database_newer": Words("{file}: {reason}", "install the newer chatsvc again"),
    "database_damaged": Words("{file} is damaged: {problems}", _BACK),
    "database_unchecked": Words("{file} was not checked to its end within {seconds} s", "check it from a shell: chatsvc doctor"),
    "database_good": Words("{file}, schema {schema}"),
    "postgres_unusable": Words("{reason}", "see the section store of the configuration, and PostgreSQL's log: chatsvc help processes"),
    "postgres_newer": Words("{reason}", "install the newer chatsvc again"),
    "postgres_loses": Words("the server has {setting} = {value}: a crash loses messages that were answered", "set {setting} to on"),
    "postgres_rights": Words("the user may not make tables, which an upgrade needs", "make it the owner of the database"),
    "postgres_clock": Words("the server's clock is {seconds} s away from this machine's", "set both clocks, best by NTP"),
    "postgres_connections": Words("{used} of {most} connections are in use", "raise max_connections, or end other programs"),
    "postgres_unencrypted": Words("the connection is not encrypted", "take sslmode=disable out of store.url"),
    "postgres_empty": Words("it has no tables yet", "the first `chatsvc serve` makes them; or: chatsvc store copy, chatsvc backup restore"),
    "postgres_good": Words("PostgreSQL {version}, schema {schema}"),
    "sqlite_good": Words("{version}"),
    "sqlite_old": Words("{version}; keep other programs from writing the database while the service runs"),
    "knowledge_empty": Words("the bot {bot!r} answers from its knowledge and has none", "add some: chatsvc knowledge add BOT FILE"),
    "texts_gone": Words(
        "the bot {bot!r} has texts for sentences that are no longer said: {texts}", "apply its file again: chatsvc bot export, bot apply"
    ),
    "master_key_missing": Words("{file} is not there", "put it back, or give it in $CHATSVC_MASTER_KEY"),
    "master_key_exposed": Words("others may read {file}", "chmod 600 {file}; if somebody has: chatsvc master-key rotate"),
    "master_key_invalid": Words("{file} does not hold a master key", "put the right file back: 64 hexadecimal digits"),
    "master_key_other": Words("it is not the one this database was made with", "put the right one back; a backup may hold it"),
    "master_key_configured": Words("from the configuration"),
    "master_key_good": Words("{file}"),
    "clock_early": Words("it shows {time}", _CLOCK),
    "clock_behind": Words("it shows {time}, but something happened here at {newest}", _CLOCK),
    "clock_good": Words("{time}"),
    "backups_unscheduled": Words("none are scheduled", "set backup.every, or run chatsvc backup create from a timer of your own"),
    "backups_read_only": Words(
        "{folder} cannot be written",
        "mend the rights of {place} (the service's user is {user}), or set backup.folder to another folder",
    ),
    "backups_none": Words("there is none in {folder} yet", "the running service makes them; its log says what hinders it"),
    "backups_late": Words("the last one is {last}", "see the service's log for why there is no newer one; is it running?"),
    "backups_good": Words("{count} in {folder}, the last is {last}"),
    "service_stopped": Words("it is not running", "start it: chatsvc serve, or systemctl start chatsvc"),
    "service_silent": Words(
        "it runs, but has not answered within {seconds} seconds", "see its log, then start it anew: systemctl restart chatsvc"
    ),
    "service_unwilling": Words(
        "it runs, but refuses to tell its connections: {reason}", "start it anew after an upgrade: systemctl restart chatsvc"
    ),
    "service_running": Words("running; to listen on {where}"),
    "store_fault": Words("the running service writes nothing: {fault}", "stop it, put the files back, start it again"),
    "egress_opened": Words("connections opened since the service started: {counts}"),
    "egress_refused": Words("connections refused (egress: none) since the service started: {counts}"),
    "listener_free": Words("{where} is free"),
    "listener_taken": Words(_LISTEN, "another program listens there: end it (ss -ltnp shows it), or set server.listen to another port"),
    "listener_foreign": Words(_LISTEN, "this machine has no such address: set server.listen to one of its own"),
    "listener_forbidden": Words(_LISTEN, "ports below 1024 are root's: set CAP_NET_BIND_SERVICE, or choose another port"),
    "listener_unusable": Words(_LISTEN, "see server.listen in the configuration"),
    "listener_folder_missing": Words("the folder of {file} is not there", "make it for the service's user, or set server.listen: {folder}"),
    "listener_folder_closed": Words("the service's user may not make {file}", "give it {folder}, or set server.listen to another place"),
    "listener_possible": Words("{file} can be made"),
    "public_url_port": Words("callers are told {url}, but the service listens on port {port}", _PUBLIC_URL),
    "public_url_scheme": Words("callers are told {url}, but the service speaks {scheme} there", _PUBLIC_URL),
    "certificate_unusable": Words(
        "{file} with {key_file} cannot be used: {reason}",
        "name a PEM certificate and the key that belongs to it, both readable for the service's user",
    ),
    "certificate_expired": Words("{file} has expired on {day}", _RENEW),
    "certificate_early": Words("{file} is not in force yet", "look at the clock, or put the right certificate in place"),
    "certificate_for_others": Words("{file} is not for {host}", "get one for the host of server.public_url"),
    "certificate_ending": Words("{file} expires on {day}", _RENEW),
    "certificate_good": Words("{file}, until {day}"),
    "model_without_key": Words(
        "there is no API key for it",
        "set ANTHROPIC_API_KEY (or engines.anthropic.api_key_file), or take such tiers out of models: they answer not_configured",
    ),
    "model_address_invalid": Words("{reason}", "set engines.anthropic.base_url to such an address"),
    "model_name_unknown": Words(
        "the name {host} cannot be looked up: {reason}",
        "see engines.anthropic.base_url, and the machine's name servers (/etc/resolv.conf)",
    ),
    "model_untrusted": Words("the certificate of {where} is not trusted: {reason}", "install ca-certificates"),
    "model_unreachable": Words(
        "{where} cannot be reached: {reason}", "see engines.anthropic.base_url, the firewall, and whether that server runs"
    ),
    "model_refuses_key": Words(
        "{url} does not take the key (status {status})", "put the right key into ANTHROPIC_API_KEY or engines.anthropic.api_key_file"
    ),
    "model_without_interface": Words(
        "{url} has no /v1/messages (status {status})",
        "set engines.anthropic.base_url to a server that speaks the Anthropic Messages API, without /v1/messages at its end",
    ),
    "model_troubled": Words("{url} answers with status {status}", "wait until it is ready, or see that server's log"),
    "model_lacks": Words("{url} does not list the model {models}", "see models.*.model; it lists: {offered}"),
    "model_good": Words("{url}"),
    "model_complete": Words("{url}, with the models asked for"),
    "webhooks_ca_unusable": Words("webhooks.ca_file {file} cannot be used: {reason}", "name a file of PEM certificates"),
    "webhook_refused": Words("the address of the bot {bot!r} is refused: {reason}", _TARGET),
    "webhook_unresolved": Words("the host of the bot {bot!r} does not resolve: {reason}", _TARGET),
    "webhook_good": Words("bot {bot!r}: {host}"),
    "mail_good": Words("{where} takes mails"),
    "mail_unencrypted": Words("mails and the password go to {where} unencrypted", "set notices.smtp.security to starttls or tls"),
    "mail_unknown": Words("the host of {where} does not resolve", "see notices.smtp.host, and the name server"),
    "mail_unreachable": Words(
        "{where} cannot be reached: {reason}", "see notices.smtp.host and port, the firewall, and whether that server runs"
    ),
    "mail_untrusted": Words(
        "no encrypted connection to {where}{answer}",
        "see whether notices.smtp.security fits the port, and give the authority of its certificate in notices.smtp.ca_file",
    ),
    "mail_without_starttls": Words(
        "{where} offers no STARTTLS", "set notices.smtp.security to tls (port 465), or to none for a server on this machine"
    ),
    "mail_without_password": Words("there is no password for {where}", "set notices.smtp.password_file, or the environment variable"),
    "mail_without_login": Words("{where} offers no way to sign in", "leave notices.smtp.username out, or use its port for clients (587)"),
    "mail_refuses_login": Words(
        "{where} refuses user name or password{answer}", "put the right ones into notices.smtp.username and password_file"
    ),
    "mail_troubled": Words("{where} takes no mails at the moment{answer}", "see that server's log; queued mails are tried again"),
    "team_good": Words("Telegram knows the bot and the group of notices.telegram"),
    "team_without_token": Words(
        "there is no token for notices.telegram, so the team's group is not told of visitors who wait",
        "set notices.telegram.token_file, or the environment variable that notices.telegram.token names",
    ),
    "team_token_refused": Words(
        "Telegram refuses the token of notices.telegram ({answer})",
        "put the token that @BotFather shows into notices.telegram.token_file, then restart the service",
    ),
    "notices_token_elsewhere": Words(
        "another program asks Telegram for the messages of the bot of notices.telegram, so answers in the team's group do not come",
        "stop that program, or make a new token with /revoke at @BotFather and put it into notices.telegram.token_file",
    ),
    "team_chat_refused": Words(
        "the bot of notices.telegram does not reach the group {chat} ({answer})",
        "add the bot to the group, and see whether notices.telegram.chat_id is the group's number",
    ),
    "team_unreachable": Words(
        "Telegram cannot be asked about notices.telegram: {reason}", "see channels.telegram.api_url, the firewall, and the name server"
    ),
    "channel_token_refused": Words(
        "{channel} refuses the token of the bot {bot!r}", "give the new one with `chatsvc channel set`; @BotFather shows Telegram's"
    ),
    "channel_unreachable": Words(
        "{channel} cannot be reached: {reason}",
        "see the firewall, the name server, and the platform's address in the configuration: `chatsvc help configuration`",
    ),
    "channel_unverified": Words(
        "{channel} has not verified the callback of the bot {bot!r}, so no message can come",
        "enter the callback address and the verify token at Meta's: `chatsvc help channels`",
    ),
    "channel_silent": Words(
        "{channel} has called nothing of the bot {bot!r} for {days} days",
        "look at Meta's, under WhatsApp > Configuration, whether the callback is subscribed to messages",
    ),
    "channel_token_elsewhere": Words(
        "another program asks {channel} for the messages of the bot {bot!r}",
        "stop that program, or give the bot a token of its own: /revoke at @BotFather, then `chatsvc channel set`",
    ),
    "examination_unfinished": Words("it was not finished within {seconds} s", "examine it from a shell: chatsvc doctor"),
}


def worded(finding: Finding) -> Words:
    """Word a finding and its remedy."""
    words, facts = SENTENCES[finding.code], {name: _shown(name, value) for name, value in finding.facts.items()}
    free = finding.facts.get("free")
    if isinstance(free, int):
        facts |= {"gib": free / (1 << 30), "mib": free >> 20}
    return Words(words.found.format(**facts), words.remedy.format(**facts) if words.remedy else None)


def _shown(name: str, value: object) -> object:
    if isinstance(value, list):
        return ("; " if name == "problems" else ", ").join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{purpose} {count}" for purpose, count in value.items())
    return value
