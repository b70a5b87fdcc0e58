"""Migrations of both stores: an append-only list whose length is the schema version.

A released step is never edited. `migrate` applies them to SQLite; store/postgres/migrations.py translates them.
"""

import sqlite3
from contextlib import closing

from chatsvc.store.database import SchemaTooNew

APPLICATION_ID = 0x63686174  # "chat"

MIGRATIONS: tuple[str, ...] = (
    # 1: accounts, keys, bots, conversations, usage, knowledge.
    # Owner and counts stand on the rows, so that no list joins or counts the whole. A foreign key stands only where an index
    # begins with its column: without one, each parent that goes would have the whole table searched for children.
    """
    CREATE TABLE store_facts (
        name TEXT PRIMARY KEY,
        value BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE accounts (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        plan TEXT,
        subscription_status TEXT NOT NULL,
        messages_limit INTEGER NOT NULL CHECK (messages_limit >= 0),
        message_credits INTEGER NOT NULL CHECK (message_credits >= 0),
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        deleted_at INTEGER
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE allowances (
        account_id TEXT NOT NULL REFERENCES accounts (id),
        month TEXT NOT NULL,
        messages_used INTEGER NOT NULL,
        PRIMARY KEY (account_id, month)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE api_keys (
        digest BLOB PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        account_id TEXT REFERENCES accounts (id),
        label TEXT,
        prefix TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        expires_at INTEGER,
        revoked_at INTEGER,
        last_used_at INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX api_keys_of_account ON api_keys (account_id);

    CREATE TABLE bots (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        account_id TEXT NOT NULL REFERENCES accounts (id),
        name TEXT NOT NULL,
        description TEXT,
        model TEXT NOT NULL,
        active INTEGER NOT NULL DEFAULT 1,
        messages_used INTEGER NOT NULL DEFAULT 0,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        instructions TEXT,
        timezone TEXT NOT NULL,
        country TEXT NOT NULL,
        language TEXT NOT NULL,
        opening_hours TEXT,
        ask_back INTEGER,
        greeting TEXT
    ) STRICT;
    CREATE INDEX bots_of_account ON bots (account_id, number);

    CREATE TABLE conversations (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        account_id TEXT NOT NULL,
        bot_id TEXT NOT NULL REFERENCES bots (id),
        channel TEXT NOT NULL,
        user_id TEXT NOT NULL,
        visitor_name TEXT,
        visitor_email TEXT,
        last_message_at INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        message_count INTEGER NOT NULL,
        UNIQUE (bot_id, channel, user_id)
    ) STRICT;
    CREATE INDEX conversations_of_account ON conversations (account_id, channel, last_message_at, number);
    CREATE INDEX conversations_of_bot ON conversations (bot_id, channel, last_message_at, number);

    CREATE TABLE conversation_counts (
        account_id TEXT NOT NULL REFERENCES accounts (id),
        bot_id TEXT NOT NULL,
        channel TEXT NOT NULL,
        conversations INTEGER NOT NULL,
        PRIMARY KEY (account_id, bot_id, channel)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE messages (
        number INTEGER PRIMARY KEY,
        conversation INTEGER NOT NULL REFERENCES conversations (number),
        id TEXT NOT NULL,
        role TEXT NOT NULL,
        content TEXT NOT NULL,
        created_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX messages_of_conversation ON messages (conversation, number);

    CREATE TABLE usage_records (
        number INTEGER PRIMARY KEY,
        account_id TEXT NOT NULL,
        bot_id TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        cost_micro_usd INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX usage_of_account ON usage_records (account_id, created_at, number, bot_id, tokens, cost_micro_usd);

    CREATE TABLE idempotency_keys (
        account_id TEXT NOT NULL REFERENCES accounts (id),
        key TEXT NOT NULL,
        fingerprint BLOB NOT NULL,
        exchange TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        PRIMARY KEY (account_id, key)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

    CREATE TABLE knowledge_entries (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        bot_id TEXT NOT NULL REFERENCES bots (id),
        question TEXT NOT NULL,
        alt TEXT NOT NULL,
        answer TEXT NOT NULL,
        language TEXT NOT NULL,
        source TEXT,
        created_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX knowledge_of_bot ON knowledge_entries (bot_id, number);
    """,
    # 2: what bots capture, the webhooks that tell of it, and what was sent.
    # An event stands in the transaction of its record; `state` is 0 pending, 1 attempted, 2 kept without sending.
    """
    ALTER TABLE conversations ADD COLUMN dialogue TEXT;

    CREATE TABLE requests (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        bot_id TEXT NOT NULL REFERENCES bots (id),
        conversation INTEGER NOT NULL REFERENCES conversations (number),
        request_type TEXT NOT NULL,
        status TEXT NOT NULL,
        message TEXT NOT NULL,
        visitor_name TEXT,
        visitor_email TEXT,
        visitor_phone TEXT,
        source_page_host TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX requests_of_bot ON requests (bot_id, number);
    CREATE INDEX requests_of_conversation ON requests (conversation, created_at);

    CREATE TABLE appointments (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        request INTEGER NOT NULL UNIQUE REFERENCES requests (number),
        bot_id TEXT NOT NULL REFERENCES bots (id),
        status TEXT NOT NULL,
        appointment_date TEXT NOT NULL,
        appointment_time TEXT NOT NULL,
        appointment_at INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX appointments_of_bot ON appointments (bot_id, number);

    CREATE TABLE webhooks (
        bot_id TEXT PRIMARY KEY REFERENCES bots (id),
        url TEXT,
        events TEXT NOT NULL,
        signing_key BLOB NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE webhook_events (
        number INTEGER PRIMARY KEY,
        bot_id TEXT NOT NULL REFERENCES bots (id),
        event TEXT NOT NULL,
        record_id TEXT NOT NULL,
        data TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        follows INTEGER,
        state INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX webhook_events_pending ON webhook_events (bot_id, number) WHERE state = 0;
    CREATE INDEX webhook_events_of_bot ON webhook_events (bot_id, created_at, number);

    CREATE TABLE webhook_attempts (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        event_number INTEGER NOT NULL REFERENCES webhook_events (number),
        bot_id TEXT NOT NULL REFERENCES bots (id),
        delivery_id TEXT NOT NULL,
        url TEXT,
        body BLOB NOT NULL,
        at INTEGER NOT NULL,
        success INTEGER,
        status_code INTEGER,
        error TEXT,
        duration_ms INTEGER
    ) STRICT;
    CREATE INDEX webhook_attempts_of_bot ON webhook_attempts (bot_id, number);
    CREATE INDEX webhook_attempts_of_event ON webhook_attempts (event_number, number);
    CREATE INDEX webhook_attempts_under_way ON webhook_attempts (number) WHERE success IS NULL;
    """,
    # 3: a bot's own synonyms, the file that an entry came with where it names another source, and what visitors asked in vain.
    """
    ALTER TABLE knowledge_entries ADD COLUMN file TEXT;
    UPDATE knowledge_entries SET file = source;
    CREATE INDEX knowledge_of_source ON knowledge_entries (bot_id, source);
    CREATE INDEX knowledge_of_file ON knowledge_entries (bot_id, file);

    CREATE TABLE knowledge_synonyms (
        number INTEGER PRIMARY KEY,
        bot_id TEXT NOT NULL REFERENCES bots (id),
        words TEXT NOT NULL,
        source TEXT NOT NULL,
        file TEXT NOT NULL
    ) STRICT;
    CREATE INDEX synonyms_of_bot ON knowledge_synonyms (bot_id, number);
    CREATE INDEX synonyms_of_source ON knowledge_synonyms (bot_id, source);
    CREATE INDEX synonyms_of_file ON knowledge_synonyms (bot_id, file);

    CREATE TABLE unanswered_questions (
        number INTEGER PRIMARY KEY,
        bot_id TEXT NOT NULL REFERENCES bots (id),
        folded TEXT NOT NULL,
        question TEXT NOT NULL,
        language TEXT NOT NULL,
        times INTEGER NOT NULL,
        first_asked_at INTEGER NOT NULL,
        last_asked_at INTEGER NOT NULL,
        UNIQUE (bot_id, folded)
    ) STRICT;
    CREATE INDEX unanswered_of_bot ON unanswered_questions (bot_id, times, last_asked_at);
    """,
    # 4: who administered what and when. `outcome` is null while it is being done, and stays so where the process ended meanwhile.
    """
    CREATE TABLE administrative_acts (
        number INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        uid INTEGER NOT NULL,
        operation TEXT NOT NULL,
        ids TEXT NOT NULL,
        outcome TEXT
    ) STRICT;
    """,
    # 5: the visitors behind the questions without an answer, so that erasure finds them; `masked`: without names and contact data.
    """
    ALTER TABLE unanswered_questions ADD COLUMN masked INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX unanswered_unmasked ON unanswered_questions (number) WHERE masked = 0;
    CREATE INDEX unanswered_by_age ON unanswered_questions (bot_id, last_asked_at);

    CREATE TABLE unanswered_askers (
        number INTEGER PRIMARY KEY,
        question INTEGER NOT NULL REFERENCES unanswered_questions (number),
        bot_id TEXT NOT NULL REFERENCES bots (id),
        channel TEXT NOT NULL,
        user_id TEXT NOT NULL,
        wording TEXT NOT NULL,
        times INTEGER NOT NULL,
        last_asked_at INTEGER NOT NULL,
        UNIQUE (question, channel, user_id)
    ) STRICT;
    CREATE INDEX unanswered_askers_of_visitor ON unanswered_askers (bot_id, user_id);
    CREATE INDEX unanswered_askers_by_age ON unanswered_askers (bot_id, last_asked_at);
    """,
    # 6: the audit log with actor, front end and account. Lists by keyset have an index each.
    """
    CREATE TABLE audit_records (
        number INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        actor_kind TEXT NOT NULL,
        actor_id TEXT NOT NULL,
        actor_name TEXT NOT NULL,
        via TEXT NOT NULL,
        account_id TEXT,
        operation TEXT NOT NULL,
        ids TEXT NOT NULL,
        outcome TEXT
    ) STRICT;
    INSERT INTO audit_records
        SELECT a.number, a.at, 'user', CAST(a.uid AS TEXT), '', 'cli',
            coalesce(json_extract(a.ids, '$.account'), (SELECT account_id FROM bots WHERE id = json_extract(a.ids, '$.bot'))),
            a.operation, a.ids, a.outcome
        FROM administrative_acts a;
    DROP TABLE administrative_acts;
    CREATE INDEX audit_of_account ON audit_records (account_id, number);
    CREATE INDEX accounts_by_age ON accounts (created_at, id);
    CREATE INDEX api_keys_by_age ON api_keys (created_at, id);
    """,
    # 7: the engine that replies where a bot's model fails, and the origin of each reply (JSON).
    """
    ALTER TABLE bots ADD COLUMN fallback TEXT;
    ALTER TABLE messages ADD COLUMN evidence TEXT;
    """,
    # 8: operators of the dashboard. `totp` is the secret of the second factor, `totp_offered` one that is not confirmed yet, and
    # `totp_used` the time step of the last code, which is not taken twice.
    """
    CREATE TABLE operators (
        id TEXT PRIMARY KEY,
        email TEXT NOT NULL UNIQUE,
        name TEXT,
        language TEXT,
        admin INTEGER NOT NULL,
        notices TEXT NOT NULL,
        password TEXT,
        totp BLOB,
        totp_offered BLOB,
        totp_used INTEGER NOT NULL DEFAULT 0,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX operators_by_age ON operators (created_at, id);

    CREATE TABLE operator_roles (
        operator_id TEXT NOT NULL REFERENCES operators (id),
        account_id TEXT NOT NULL REFERENCES accounts (id),
        role TEXT NOT NULL,
        PRIMARY KEY (operator_id, account_id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX operator_roles_of_account ON operator_roles (account_id);

    CREATE TABLE operator_links (
        digest BLOB PRIMARY KEY,
        operator_id TEXT NOT NULL REFERENCES operators (id),
        created_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX operator_links_of_operator ON operator_links (operator_id);

    CREATE TABLE operator_sessions (
        digest BLOB PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        operator_id TEXT NOT NULL REFERENCES operators (id),
        browser TEXT NOT NULL,
        address TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        last_seen_at INTEGER NOT NULL,
        verified INTEGER NOT NULL,
        account_id TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX operator_sessions_of_operator ON operator_sessions (operator_id, created_at);

    CREATE TABLE recovery_codes (
        operator_id TEXT NOT NULL REFERENCES operators (id),
        digest BLOB NOT NULL,
        PRIMARY KEY (operator_id, digest)
    ) STRICT, WITHOUT ROWID;
    """,
    # 9: the owner's texts, closed days and forms of a bot (JSON).
    "ALTER TABLE bots ADD COLUMN profile TEXT",
    # 10: signature and answer of each delivery; the channel of each usage record.
    """
    ALTER TABLE webhook_attempts ADD COLUMN signature TEXT;
    ALTER TABLE webhook_attempts ADD COLUMN answer BLOB;
    CREATE INDEX webhook_attempts_failed ON webhook_attempts (bot_id, number) WHERE success = 0;
    ALTER TABLE usage_records ADD COLUMN channel TEXT NOT NULL DEFAULT 'api';
    DROP INDEX usage_of_account;
    CREATE INDEX usage_of_account ON usage_records (account_id, created_at, number, bot_id, channel, tokens, cost_micro_usd);
    """,
    # 11: the search index of conversations. Existing ones are queued, and indexed in the background; the queue
    # has no foreign key, which would take seconds to check for a million of them.
    # Columns of one affinity (ANY): else SQLite compares a row value, by which rows are deleted, by its first column alone.
    """
    CREATE TABLE search_queue (
        conversation INTEGER PRIMARY KEY
    ) STRICT;
    INSERT INTO search_queue SELECT number FROM conversations;

    CREATE TABLE search_documents (
        conversation INTEGER PRIMARY KEY REFERENCES conversations (number),
        words TEXT NOT NULL,
        message INTEGER NOT NULL,
        request INTEGER NOT NULL
    ) STRICT;

    CREATE TABLE search_words (
        bot ANY NOT NULL,
        word ANY NOT NULL,
        conversation ANY NOT NULL,
        PRIMARY KEY (bot, word, conversation)
    ) STRICT, WITHOUT ROWID;
    """,
    # 12: the history of changes to knowledge. `files` are those that a change replaces as a whole (JSON), `undoes` is the number of the
    # change that it takes back, `replaced` the rows before and after it (compressed JSON).
    """
    CREATE TABLE knowledge_changes (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        bot_id TEXT NOT NULL REFERENCES bots (id),
        at INTEGER NOT NULL,
        actor_kind TEXT NOT NULL,
        actor_id TEXT NOT NULL,
        actor_name TEXT NOT NULL,
        via TEXT NOT NULL,
        kind TEXT NOT NULL,
        title TEXT NOT NULL,
        entries_before INTEGER NOT NULL,
        entries_after INTEGER NOT NULL,
        undone INTEGER NOT NULL,
        files TEXT NOT NULL,
        undoes INTEGER,
        replaced BLOB NOT NULL
    ) STRICT;
    CREATE INDEX knowledge_changes_of_bot ON knowledge_changes (bot_id, number);
    """,
    # 13: note and assignee (an operator's id) of a request and of its appointment; lists by status, assignee and time.
    """
    ALTER TABLE requests ADD COLUMN note TEXT;
    ALTER TABLE requests ADD COLUMN assignee TEXT;
    CREATE INDEX requests_by_status ON requests (bot_id, status, number);
    CREATE INDEX requests_of_assignee ON requests (bot_id, assignee, number) WHERE assignee IS NOT NULL;
    CREATE INDEX appointments_by_status ON appointments (bot_id, status, request);
    CREATE INDEX appointments_by_time ON appointments (bot_id, appointment_at);
    """,
    # 14: channels, and conversations that a person takes over. `identity` is a platform's own name of the bot's account there.
    # `handling_since` is the time from which a visitor waits, or of the operator's last word. A visitor's message is `pending` until its
    # turn is settled, and `incoming` is the digest of the key with which its channel sent it. `incoming_keys` keeps those digests when
    # the message is erased: platforms deliver again for days.
    """
    CREATE TABLE channels (
        id TEXT PRIMARY KEY,
        bot_id TEXT NOT NULL REFERENCES bots (id),
        channel TEXT NOT NULL,
        state TEXT NOT NULL,
        settings TEXT NOT NULL,
        secrets BLOB,
        identity TEXT,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        UNIQUE (bot_id, channel),
        UNIQUE (channel, identity)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE incoming_keys (
        digest BLOB PRIMARY KEY,
        bot_id TEXT NOT NULL REFERENCES bots (id),
        created_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX incoming_keys_of_bot ON incoming_keys (bot_id, created_at);

    ALTER TABLE bots ADD COLUMN hand_off INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE bots ADD COLUMN hand_off_wait INTEGER NOT NULL DEFAULT 10;
    ALTER TABLE bots ADD COLUMN hand_off_return INTEGER NOT NULL DEFAULT 30;

    ALTER TABLE conversations ADD COLUMN handling TEXT NOT NULL DEFAULT 'bot';
    ALTER TABLE conversations ADD COLUMN handling_since INTEGER;
    ALTER TABLE conversations ADD COLUMN operator_id TEXT;
    ALTER TABLE conversations ADD COLUMN operator_name TEXT;
    ALTER TABLE conversations ADD COLUMN source_page_host TEXT NOT NULL DEFAULT '';
    CREATE INDEX conversations_handed_off ON conversations (handling, handling_since) WHERE handling <> 'bot';

    ALTER TABLE messages ADD COLUMN author TEXT;
    ALTER TABLE messages ADD COLUMN delivery TEXT;
    ALTER TABLE messages ADD COLUMN error TEXT;
    ALTER TABLE messages ADD COLUMN feedback TEXT;
    ALTER TABLE messages ADD COLUMN incoming BLOB;
    ALTER TABLE messages ADD COLUMN pending INTEGER;
    CREATE UNIQUE INDEX messages_incoming ON messages (incoming) WHERE incoming IS NOT NULL;
    CREATE INDEX messages_pending ON messages (number) WHERE pending = 1;
    CREATE INDEX messages_queued ON messages (number) WHERE delivery = 'queued';
    """,
    # 15: replies on their way to a messaging platform. `outbox` names the queue of a message that waits there, `in_flight` is 1 from before
    # its request is written until the outcome is known, `parts_sent` counts the parts of a long one, and `platform_id` is the digest
    # of the platform's own id. `kind` is that of a visitor's message that is no plain text, `choices` are a reply's buttons (JSON).
    # `fault` is why a platform refuses a channel, `seen_at` the time of its last update, `verified_at` that of the callback's handshake.
    """
    ALTER TABLE messages ADD COLUMN outbox TEXT;
    ALTER TABLE messages ADD COLUMN in_flight INTEGER;
    ALTER TABLE messages ADD COLUMN first_attempt_at INTEGER;
    ALTER TABLE messages ADD COLUMN parts_sent INTEGER;
    ALTER TABLE messages ADD COLUMN platform_id BLOB;
    ALTER TABLE messages ADD COLUMN kind TEXT;
    ALTER TABLE messages ADD COLUMN choices TEXT;
    CREATE INDEX messages_outbox ON messages (outbox, conversation, number) WHERE outbox IS NOT NULL;
    CREATE INDEX messages_platform_id ON messages (platform_id) WHERE platform_id IS NOT NULL;
    ALTER TABLE channels ADD COLUMN fault TEXT;
    ALTER TABLE channels ADD COLUMN fault_at INTEGER;
    ALTER TABLE channels ADD COLUMN seen_at INTEGER;
    ALTER TABLE channels ADD COLUMN verified_at INTEGER;
    """,
    # 16: numbers of messages are never used again, since turns, deliveries and visitors' browsers hold them after an erasure.
    # AUTOINCREMENT does not change the rows on disk, so the declaration alone is rewritten: copying a million rows takes many seconds.
    # RESET reads the schema again; other connections do so since a table was created.
    """
    CREATE TABLE messages_sequence (number INTEGER PRIMARY KEY AUTOINCREMENT) STRICT;
    DROP TABLE messages_sequence;
    PRAGMA writable_schema = ON;
    UPDATE sqlite_schema SET sql = replace(sql, 'number INTEGER PRIMARY KEY,', 'number INTEGER PRIMARY KEY AUTOINCREMENT,')
        WHERE type = 'table' AND name = 'messages';
    PRAGMA writable_schema = RESET;
    INSERT INTO sqlite_sequence (name, seq) SELECT 'messages', coalesce(max(number), 0) FROM messages;
    """,
    # 17: `begun` of the conversations of a bot and channel began on `day`, counted in days since 1970.
    """
    ALTER TABLE conversation_counts ADD COLUMN day INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE conversation_counts ADD COLUMN begun INTEGER NOT NULL DEFAULT 0;
    DROP INDEX messages_pending;
    CREATE INDEX messages_pending ON messages (conversation, number) WHERE pending = 1;
    """,
    # 18: the digest of the secret that a session has to show, once; null once it was shown.
    "ALTER TABLE operator_sessions ADD COLUMN to_show BLOB",
    # 19: the networks from which an operator has signed in (JSON), which a stranger's wrong passwords do not hold up.
    "ALTER TABLE operators ADD COLUMN known_networks TEXT NOT NULL DEFAULT '[]'",
    # 20: how often a refused act was tried again within a short time; each account has its own limit of records.
    """
    ALTER TABLE audit_records ADD COLUMN times INTEGER NOT NULL DEFAULT 1;
    CREATE INDEX audit_refused ON audit_records (account_id, number) WHERE outcome = 'refused';
    CREATE INDEX audit_refused_of_actor ON audit_records (actor_id, operation, at) WHERE outcome = 'refused';
    """,
    # 21: WhatsApp. Addresses lead to conversations; one that another conversation goes on with is kept, no longer current, as the address
    # of the older messages. `whatsapp_sends` counts a bot's sent messages in a UTC month.
    """
    CREATE TABLE whatsapp_addresses (
        number INTEGER PRIMARY KEY,
        bot_id TEXT NOT NULL REFERENCES bots (id),
        conversation INTEGER NOT NULL REFERENCES conversations (number),
        kind TEXT NOT NULL,
        value TEXT NOT NULL,
        is_current INTEGER NOT NULL,
        created_at INTEGER NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX whatsapp_addresses_current ON whatsapp_addresses (bot_id, kind, value) WHERE is_current = 1;
    CREATE INDEX whatsapp_addresses_of_conversation ON whatsapp_addresses (conversation);
    CREATE INDEX whatsapp_addresses_of_bot ON whatsapp_addresses (bot_id);

    CREATE TABLE whatsapp_sends (
        number INTEGER PRIMARY KEY,
        bot_id TEXT NOT NULL REFERENCES bots (id),
        month TEXT NOT NULL,
        sent INTEGER NOT NULL,
        UNIQUE (bot_id, month)
    ) STRICT;
    """,
    # 22: the queue of mails. `operator_id` is the operator whom a notice is for, `bot_id` and `conversation` are what it is about, NULL
    # where it bundles several. `created_at` is the time of the latest cause, `settled_at` that of the outcome.
    """
    CREATE TABLE mails (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        account_id TEXT REFERENCES accounts (id),
        kind TEXT NOT NULL,
        operator_id TEXT,
        bot_id TEXT,
        conversation INTEGER,
        recipient TEXT NOT NULL,
        causes INTEGER NOT NULL,
        state TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        due_at INTEGER NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        settled_at INTEGER,
        status_code INTEGER,
        error TEXT,
        answer TEXT
    ) STRICT;
    CREATE UNIQUE INDEX mails_queued_notices ON mails (operator_id, account_id, kind) WHERE state = 'queued' AND operator_id IS NOT NULL;
    CREATE INDEX mails_of_operator ON mails (operator_id, account_id, kind, number) WHERE operator_id IS NOT NULL;
    CREATE INDEX mails_of_account ON mails (account_id);
    CREATE INDEX mails_of_conversation ON mails (conversation) WHERE conversation IS NOT NULL;
    CREATE INDEX mails_by_state ON mails (state, due_at);
    """,
    # 23: notices in the team's group that a visitor waits. `since` is the time from which, and `digest` that of the message's id there.
    """
    CREATE TABLE team_notices (
        conversation INTEGER NOT NULL REFERENCES conversations (number),
        since INTEGER NOT NULL,
        digest BLOB,
        PRIMARY KEY (conversation, since)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX team_notices_by_digest ON team_notices (digest) WHERE digest IS NOT NULL;
    """,
    # 24: answers of operators that go by mail to visitors who have gone; `mail` is the number of the mail that carried a message.
    """
    ALTER TABLE messages ADD COLUMN mail INTEGER;
    CREATE UNIQUE INDEX mails_queued_answers ON mails (conversation) WHERE state = 'queued' AND kind = 'answer';
    """,
    # 25: conversations are found by their visitor's number on WhatsApp.
    """
    INSERT OR IGNORE INTO search_queue SELECT conversation FROM whatsapp_addresses;
    """,
    # 26: the processes over one store.
    """
    CREATE TABLE nodes (
        id TEXT PRIMARY KEY,
        state TEXT NOT NULL,
        since INTEGER NOT NULL,
        listen TEXT NOT NULL,
        version TEXT NOT NULL,
        seen_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    """,
    # 27: turns that are being answered, where several processes work on one store.
    """
    CREATE TABLE open_turns (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        node TEXT NOT NULL,
        account_id TEXT,
        month TEXT,
        place BLOB,
        key TEXT,
        fingerprint BLOB,
        outcome TEXT,
        ended_at INTEGER
    ) STRICT;
    CREATE INDEX open_turns_by_account ON open_turns (account_id);
    CREATE INDEX open_turns_by_place ON open_turns (place, number);
    CREATE INDEX open_turns_by_node ON open_turns (node);
    CREATE INDEX open_turns_by_end ON open_turns (ended_at);
    """,
    # 28: digests of e-mail addresses whose owners want no more mails with answers from an account.
    """
    CREATE TABLE mail_stops (
        number INTEGER PRIMARY KEY,
        account_id TEXT NOT NULL REFERENCES accounts (id),
        digest BLOB NOT NULL,
        created_at INTEGER NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX mail_stops_of_account ON mail_stops (account_id, digest);
    CREATE INDEX mails_with_answers ON mails (recipient, created_at) WHERE kind = 'answer';
    """,
    # 29: commands that a process hands to the one that works, with the files of their answers.
    """
    CREATE TABLE remote_commands (
        id TEXT PRIMARY KEY,
        sealed_request BLOB NOT NULL,
        created_at INTEGER NOT NULL,
        taken_by TEXT,
        sealed_answer BLOB,
        parts INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX remote_commands_by_time ON remote_commands (created_at);
    CREATE TABLE remote_files (
        command TEXT NOT NULL,
        part INTEGER NOT NULL,
        sealed_part BLOB NOT NULL,
        PRIMARY KEY (command, part)
    ) STRICT, WITHOUT ROWID;
    """,
    # 30: no query reads it; messages that wait are found by their queue.
    "DROP INDEX messages_queued",
    # 31: what operators change of their own counts apart in the audit log.
    """
    ALTER TABLE audit_records ADD COLUMN own INTEGER NOT NULL DEFAULT 0;
    UPDATE audit_records SET own = 1 WHERE account_id IS NULL AND actor_kind = 'operator' AND operation IN
        ('operator.language', 'session.create', 'session.verify', 'session.remove', 'session.revoke', 'password.set', 'totp.enable',
         'totp.confirm', 'totp.disable');
    DROP INDEX audit_of_account;
    CREATE INDEX audit_of_account ON audit_records (account_id, own, number);
    CREATE INDEX audit_of_operator ON audit_records (actor_id, operation, number) WHERE own = 1;
    """,
    # 32: which of several processes sends something, does a named piece of work, or answers a turn that another one awaits.
    """
    ALTER TABLE webhook_attempts ADD COLUMN node TEXT;
    ALTER TABLE mails ADD COLUMN node TEXT;
    ALTER TABLE messages ADD COLUMN node TEXT;
    ALTER TABLE open_turns ADD COLUMN awaited INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE leases (
        name TEXT PRIMARY KEY,
        node TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    """,
    # 33: the first trial of an account; answers of operators that no visitor's page has confirmed.
    """
    ALTER TABLE accounts ADD COLUMN tried_at INTEGER;
    CREATE INDEX messages_unseen ON messages (conversation, number) WHERE role = 'operator' AND delivery = 'queued';
    """,
    # 34: failed attempts to sign in, by digests of e-mail and client addresses.
    """
    CREATE TABLE sign_in_failures (
        number INTEGER PRIMARY KEY,
        key BLOB NOT NULL,
        at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX sign_in_failures_by_key ON sign_in_failures (key, at);
    CREATE INDEX sign_in_failures_by_time ON sign_in_failures (at);
    """,
    # 35: the zone of the times on an operator's pages.
    "ALTER TABLE operators ADD COLUMN timezone TEXT",
    # 36: conversations as an inbox of the team. `conversation_views.message` is the number of the last message that the operator has seen.
    """
    ALTER TABLE conversations ADD COLUMN assignee TEXT;
    CREATE INDEX conversations_assigned ON conversations (assignee, last_message_at, number) WHERE assignee IS NOT NULL;
    CREATE TABLE conversation_views (
        operator_id TEXT NOT NULL,
        conversation INTEGER NOT NULL REFERENCES conversations (number),
        message INTEGER NOT NULL,
        PRIMARY KEY (operator_id, conversation)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX conversation_views_of_conversation ON conversation_views (conversation);
    CREATE TABLE conversation_notes (
        number INTEGER PRIMARY KEY,
        conversation INTEGER NOT NULL REFERENCES conversations (number),
        id TEXT NOT NULL,
        author TEXT NOT NULL,
        text TEXT NOT NULL,
        created_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX conversation_notes_of_conversation ON conversation_notes (conversation, number);
    CREATE TABLE saved_replies (
        number INTEGER PRIMARY KEY,
        account_id TEXT NOT NULL REFERENCES accounts (id),
        name TEXT NOT NULL,
        text TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX saved_replies_of_account ON saved_replies (account_id, name);
    """,
    # 37: the latest runs of a bot's tests.
    """
    CREATE TABLE bot_test_runs (
        number INTEGER PRIMARY KEY,
        bot_id TEXT NOT NULL REFERENCES bots (id),
        at INTEGER NOT NULL,
        actor_name TEXT NOT NULL,
        tests INTEGER NOT NULL,
        failed INTEGER NOT NULL,
        questions TEXT NOT NULL
    ) STRICT;
    CREATE INDEX bot_test_runs_of_bot ON bot_test_runs (bot_id, number);
    """,
    # 38: all processes over one store work, and commands write to it themselves.
    """
    DROP TABLE remote_commands;
    DROP TABLE remote_files;
    ALTER TABLE nodes DROP COLUMN state;
    """,
    # 39: versions of accounts, in PostgreSQL alone.
    "",
    # 40: number of a process's latest transaction.
    "ALTER TABLE nodes ADD COLUMN written INTEGER NOT NULL DEFAULT 0",
    # 41: websites that bots read. `draft` holds what a reading made and nobody has applied yet; `site_entries` is what was applied.
    """
    CREATE TABLE sites (
        number INTEGER PRIMARY KEY,
        bot_id TEXT NOT NULL REFERENCES bots (id),
        id TEXT NOT NULL UNIQUE,
        url TEXT NOT NULL,
        include TEXT NOT NULL,
        exclude TEXT NOT NULL,
        max_pages INTEGER NOT NULL,
        every_days INTEGER NOT NULL,
        review INTEGER NOT NULL,
        state TEXT NOT NULL,
        reason TEXT,
        started_at INTEGER NOT NULL,
        read_at INTEGER,
        due_at INTEGER,
        done INTEGER NOT NULL,
        pages INTEGER NOT NULL,
        changes TEXT NOT NULL,
        draft BLOB
    ) STRICT;
    CREATE UNIQUE INDEX sites_of_bot ON sites (bot_id, url);
    CREATE INDEX sites_reading ON sites (state);
    CREATE INDEX sites_due ON sites (due_at);
    CREATE TABLE site_pages (
        number INTEGER PRIMARY KEY,
        bot_id TEXT NOT NULL REFERENCES bots (id),
        site INTEGER NOT NULL REFERENCES sites (number),
        url TEXT NOT NULL,
        state TEXT NOT NULL,
        reason TEXT,
        entries INTEGER NOT NULL,
        read_at INTEGER NOT NULL,
        etag TEXT,
        modified TEXT,
        digest BLOB NOT NULL,
        parsed BLOB
    ) STRICT;
    CREATE UNIQUE INDEX site_pages_of_site ON site_pages (site, url);
    CREATE INDEX site_pages_of_bot ON site_pages (bot_id);
    CREATE TABLE site_entries (
        number INTEGER PRIMARY KEY,
        bot_id TEXT NOT NULL REFERENCES bots (id),
        site INTEGER NOT NULL REFERENCES sites (number),
        page TEXT NOT NULL,
        key TEXT NOT NULL,
        question TEXT NOT NULL,
        answer TEXT NOT NULL,
        language TEXT NOT NULL,
        entry_id TEXT NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX site_entries_of_site ON site_entries (site, page, key);
    CREATE INDEX site_entries_of_bot ON site_entries (bot_id);
    """,
    # 42: counts of each bot and UTC day, and since when a visitor waits for a person's first words. Past days are counted from the records
    # that are there: questions without an answer at the day on which each was last asked, and as handed over the conversations in which a
    # person wrote. The entries of replies are counted for the last 90 days. `item` is the entry, or the seconds of a response.
    """
    ALTER TABLE conversations ADD COLUMN waiting_since INTEGER;
    UPDATE conversations SET waiting_since = handling_since WHERE handling <> 'bot' AND handling = 'waiting';
    CREATE TABLE day_counts (
        number INTEGER PRIMARY KEY,
        bot_id TEXT NOT NULL REFERENCES bots (id),
        name TEXT NOT NULL,
        day INTEGER NOT NULL,
        item TEXT NOT NULL,
        times INTEGER NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX day_counts_of_bot ON day_counts (bot_id, name, day, item);
    INSERT INTO day_counts (bot_id, name, day, item, times)
        SELECT u.bot_id, k.value, u.day, '', CASE k.value WHEN 'answered' THEN u.answered WHEN 'tokens' THEN u.tokens ELSE u.cost END
        FROM (SELECT bot_id, created_at / 86400000 * 86400000 AS day, count(*) AS answered, sum(tokens) AS tokens,
            sum(cost_micro_usd) AS cost FROM usage_records WHERE bot_id IN (SELECT id FROM bots) GROUP BY 1, 2) AS u
        JOIN json_each('["answered", "tokens", "cost_micro_usd"]') k ON k.value = 'answered' OR u.tokens > 0;
    INSERT INTO day_counts (bot_id, name, day, item, times)
        SELECT bot_id, 'requests', created_at / 86400000 * 86400000, '', count(*) FROM requests GROUP BY 1, 3;
    INSERT INTO day_counts (bot_id, name, day, item, times)
        SELECT bot_id, 'appointments', created_at / 86400000 * 86400000, '', count(*) FROM appointments GROUP BY 1, 3;
    INSERT INTO day_counts (bot_id, name, day, item, times)
        SELECT bot_id, 'unanswered', last_asked_at / 86400000 * 86400000, '', sum(times) FROM (
            SELECT bot_id, last_asked_at, times FROM unanswered_askers
            UNION ALL
            SELECT q.bot_id, q.last_asked_at,
                q.times - coalesce((SELECT sum(a.times) FROM unanswered_askers a WHERE a.question = q.number), 0)
            FROM unanswered_questions q) AS asked
        GROUP BY 1, 3 HAVING sum(times) > 0;
    INSERT INTO day_counts (bot_id, name, day, item, times)
        SELECT bot_id, name, day, '', count(*) FROM (
            SELECT DISTINCT c.bot_id, coalesce(m.feedback, 'handed_over') AS name, m.created_at / 86400000 * 86400000 AS day,
                CASE WHEN m.feedback IS NULL THEN -m.conversation ELSE m.number END AS counted
            FROM messages m JOIN conversations c ON c.number = m.conversation WHERE m.feedback IS NOT NULL OR m.role = 'operator') AS said
        GROUP BY 1, 2, 3;
    INSERT INTO day_counts (bot_id, name, day, item, times)
        SELECT c.bot_id, 'entry', m.created_at / 86400000 * 86400000,
            substr(m.evidence, 22, CAST(instr(substr(m.evidence, 22, 100), '"') - 1 AS SMALLINT)), count(*)
        FROM messages m JOIN conversations c ON c.number = m.conversation
        WHERE substr(m.evidence, 1, 21) = '{"entries": [{"id": "' AND m.created_at >= (SELECT max(day) FROM day_counts) - 7776000000
            AND (instr(m.evidence, '"decision": "answer"') > 0 OR instr(m.evidence, '"decision": null') > 0)
        GROUP BY 1, 3, 4;
    """,
    # 43: counts of days in one tree: beside an index, each row of a period cost a search of its own.
    """
    CREATE TABLE counts_of_days (
        bot_id TEXT NOT NULL REFERENCES bots (id),
        name TEXT NOT NULL,
        day INTEGER NOT NULL,
        item TEXT NOT NULL,
        times INTEGER NOT NULL,
        PRIMARY KEY (bot_id, name, day, item)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO counts_of_days (bot_id, name, day, item, times)
        SELECT bot_id, name, day, item, times FROM day_counts ORDER BY bot_id, name, day, item;
    DROP TABLE day_counts;
    ALTER TABLE counts_of_days RENAME TO day_counts;
    """,
    # 44: a turn is inserted with two indexes fewer. The turns of a process that has ended are found by a scan; few have an end.
    """
    DROP INDEX open_turns_by_node;
    DROP INDEX open_turns_by_end;
    CREATE INDEX open_turns_by_end ON open_turns (ended_at) WHERE ended_at IS NOT NULL;
    """,
    # 45: how a business is reached, and its appointments.
    """
    ALTER TABLE bots ADD COLUMN phone TEXT;
    ALTER TABLE bots ADD COLUMN email TEXT;
    ALTER TABLE bots ADD COLUMN address TEXT;
    ALTER TABLE bots ADD COLUMN appointment_minutes INTEGER NOT NULL DEFAULT 30;
    ALTER TABLE bots ADD COLUMN appointments_at_once INTEGER NOT NULL DEFAULT 1;
    """,
    # 46: changes of records, what was decided of them, and visitors for whom nobody came.
    """
    ALTER TABLE requests ADD COLUMN urgent INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE requests ADD COLUMN follows TEXT;
    ALTER TABLE requests ADD COLUMN change TEXT;
    ALTER TABLE requests ADD COLUMN history TEXT;
    ALTER TABLE conversations ADD COLUMN missed_at INTEGER;
    ALTER TABLE bots ADD COLUMN calendar INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX requests_following ON requests (follows) WHERE follows IS NOT NULL;
    CREATE INDEX conversations_missed ON conversations (account_id, last_message_at, number) WHERE missed_at IS NOT NULL;
    """,
    # 47: readings of a site that began and did not come back.
    """
    ALTER TABLE sites ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
    """,
    # 48: the group of a question without an answer, and whether the knowledge answers it, as a change left it. All are judged anew.
    """
    ALTER TABLE unanswered_questions ADD COLUMN group_id INTEGER;
    ALTER TABLE unanswered_questions ADD COLUMN checked_change INTEGER;
    ALTER TABLE unanswered_questions ADD COLUMN is_answered INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX unanswered_by_group ON unanswered_questions (group_id);
    UPDATE unanswered_questions SET masked = 0;
    """,
)


def schema_version(connection: sqlite3.Connection) -> int:
    """Return the number of applied steps; 0 for a new database."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def is_older(connection: sqlite3.Connection) -> bool:
    """Whether the schema is that of an earlier version."""
    return 0 < schema_version(connection) < len(MIGRATIONS)


def is_newer(connection: sqlite3.Connection) -> bool:
    """Whether the schema is that of a later version."""
    return schema_version(connection) > len(MIGRATIONS)


def schema_fault(connection: sqlite3.Connection, version: int) -> str | None:
    """Compare a database with the schema of `version`. Return the first difference, None if there is none."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID or schema_version(connection) != version:
        return "application_id or user_version"
    with closing(sqlite3.connect(":memory:")) as pattern:
        for step in MIGRATIONS[:version]:
            pattern.executescript(step)
        expected, found = (set(one.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")) for one in (pattern, connection))
    different = sorted(f"{kind} {name}" for kind, name, *_ in expected ^ found)
    return different[0] if different else None


def migrate(connection: sqlite3.Connection) -> None:
    """Apply all missing steps in one transaction, which a fault rolls back; raises SchemaTooNew."""
    version = schema_version(connection)
    if is_newer(connection):
        raise SchemaTooNew(
            f"the database has schema version {version}, this program knows {len(MIGRATIONS)}: install the newer chatsvc again"
        )
    if version == len(MIGRATIONS):
        return
    steps = ";".join(MIGRATIONS[version:])
    try:
        # executescript() would commit whatever is open before it runs, so the transaction begins in the script.
        connection.executescript(f"BEGIN IMMEDIATE;{steps};PRAGMA application_id={APPLICATION_ID}")
        for number, _ in enumerate(MIGRATIONS, start=1):
            connection.execute(f"PRAGMA user_version={number}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
