-- The schema of the store. PostgreSQL takes it in translation (store/postgres/dialect.py), with what store/postgres/schema.sql adds.
-- Times are Unix milliseconds. A foreign key stands only where an index begins with its column: without one, each parent that goes would have
-- the whole table searched for children.

-- Facts about the store itself, such as the check of its master key.
CREATE TABLE store_facts (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Accounts. `tried_at` is the time of an account's first trial of a bot.
CREATE TABLE accounts (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    plan TEXT,
    subscription_status TEXT NOT NULL,
    messages_limit INTEGER NOT NULL CHECK (messages_limit >= 0),
    message_credits INTEGER NOT NULL CHECK (message_credits >= 0),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER,
    tried_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX accounts_by_age ON accounts (created_at, id);

-- Messages that an account has used in a UTC month.
CREATE TABLE allowances (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    month TEXT NOT NULL,
    messages_used INTEGER NOT NULL,
    PRIMARY KEY (account_id, month)
) STRICT, WITHOUT ROWID;

-- API keys, by the digest of the key. A key without an account opens all of them.
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
CREATE INDEX api_keys_by_age ON api_keys (created_at, id);

-- Bots. `fallback` is the engine that replies where the bot's model fails; `profile` holds the owner's texts, closed days and forms (JSON).
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
    greeting TEXT,
    fallback TEXT,
    profile TEXT,
    hand_off INTEGER NOT NULL DEFAULT 0,
    hand_off_wait INTEGER NOT NULL DEFAULT 10,
    hand_off_return INTEGER NOT NULL DEFAULT 30,
    phone TEXT,
    email TEXT,
    address TEXT,
    appointment_minutes INTEGER NOT NULL DEFAULT 30,
    appointments_at_once INTEGER NOT NULL DEFAULT 1,
    calendar INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX bots_of_account ON bots (account_id, number);

-- Conversations. The owner stands on the row, so that no list joins. `handling` tells who replies, `handling_since` is the time from which a
-- visitor waits or of the operator's last word, `waiting_since` the time since which a visitor waits for a person's first words, and `missed_at`
-- the time at which nobody had come.
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
    dialogue TEXT,
    handling TEXT NOT NULL DEFAULT 'bot',
    handling_since INTEGER,
    operator_id TEXT,
    operator_name TEXT,
    source_page_host TEXT NOT NULL DEFAULT '',
    assignee TEXT,
    waiting_since INTEGER,
    missed_at INTEGER,
    set_aside_at INTEGER,
    set_aside_until INTEGER,
    labels TEXT,
    visitor_phone TEXT,
    visitor_note TEXT,
    UNIQUE (bot_id, channel, user_id)
) STRICT;
CREATE INDEX conversations_of_account ON conversations (account_id, channel, last_message_at, number);
CREATE INDEX conversations_of_bot ON conversations (bot_id, channel, last_message_at, number);
CREATE INDEX conversations_handed_off ON conversations (handling, handling_since) WHERE handling <> 'bot';
CREATE INDEX conversations_assigned ON conversations (assignee, last_message_at, number) WHERE assignee IS NOT NULL;
CREATE INDEX conversations_missed ON conversations (account_id, last_message_at, number) WHERE missed_at IS NOT NULL;
CREATE INDEX conversations_set_aside ON conversations (account_id, last_message_at, number) WHERE set_aside_at IS NOT NULL;
CREATE INDEX conversations_snoozed ON conversations (account_id, last_message_at, number) WHERE set_aside_until IS NOT NULL;
CREATE INDEX conversations_labelled ON conversations (account_id, last_message_at, number) WHERE labels IS NOT NULL;
CREATE INDEX conversations_known ON conversations (account_id, last_message_at, number)
    WHERE visitor_name IS NOT NULL OR visitor_email IS NOT NULL OR visitor_phone IS NOT NULL;
CREATE INDEX conversations_by_email ON conversations (account_id, lower(visitor_email)) WHERE visitor_email IS NOT NULL;
CREATE INDEX conversations_by_phone ON conversations (account_id, visitor_phone) WHERE visitor_phone IS NOT NULL;

-- Counts of conversations; `begun` of them began on `day`, counted in days since 1970.
CREATE TABLE conversation_counts (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    bot_id TEXT NOT NULL,
    channel TEXT NOT NULL,
    conversations INTEGER NOT NULL,
    day INTEGER NOT NULL DEFAULT 0,
    begun INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (account_id, bot_id, channel)
) STRICT, WITHOUT ROWID;

-- Messages. Numbers are never used again, since turns, deliveries and visitors' browsers hold them after an erasure. `evidence` is the origin of a
-- reply (JSON), `incoming` the digest of the key with which its channel sent a message, `pending` 1 until its turn is settled. `outbox` names the
-- queue of a message that waits there, `in_flight` is 1 from before its request is written until the outcome is known, `parts_sent` counts the
-- parts of a long one, `platform_id` is the digest of the platform's own id. `kind` is that of a visitor's message that is no plain text, `choices`
-- are a reply's buttons (JSON), and `mail` is the number of the mail that carried it.
CREATE TABLE messages (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation INTEGER NOT NULL REFERENCES conversations (number),
    id TEXT NOT NULL,
    role TEXT NOT NULL,
    content TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    evidence TEXT,
    author TEXT,
    delivery TEXT,
    error TEXT,
    feedback TEXT,
    incoming BLOB,
    pending INTEGER,
    outbox TEXT,
    in_flight INTEGER,
    first_attempt_at INTEGER,
    parts_sent INTEGER,
    platform_id BLOB,
    kind TEXT,
    choices TEXT,
    mail INTEGER,
    node TEXT
) STRICT;
CREATE INDEX messages_of_conversation ON messages (conversation, number);
CREATE UNIQUE INDEX messages_incoming ON messages (incoming) WHERE incoming IS NOT NULL;
CREATE INDEX messages_outbox ON messages (outbox, conversation, number) WHERE outbox IS NOT NULL;
CREATE INDEX messages_platform_id ON messages (platform_id) WHERE platform_id IS NOT NULL;
CREATE INDEX messages_pending ON messages (conversation, number) WHERE pending = 1;
CREATE INDEX messages_unseen ON messages (conversation, number) WHERE role = 'operator' AND delivery = 'queued';

-- Tokens and cost of each reply.
CREATE TABLE usage_records (
    number INTEGER PRIMARY KEY,
    account_id TEXT NOT NULL,
    bot_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    cost_micro_usd INTEGER NOT NULL,
    channel TEXT NOT NULL DEFAULT 'api'
) STRICT;
CREATE INDEX usage_of_account ON usage_records (account_id, created_at, number, bot_id, channel, tokens, cost_micro_usd);

-- Answers by Idempotency-Key.
CREATE TABLE idempotency_keys (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    key TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    exchange TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (account_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

-- Knowledge. `file` is the file that an entry came with, where `source` names another one.
CREATE TABLE knowledge_entries (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    bot_id TEXT NOT NULL REFERENCES bots (id),
    question TEXT NOT NULL,
    alt TEXT NOT NULL,
    answer TEXT NOT NULL,
    language TEXT NOT NULL,
    source TEXT,
    created_at INTEGER NOT NULL,
    file TEXT
) STRICT;
CREATE INDEX knowledge_of_bot ON knowledge_entries (bot_id, number);
CREATE INDEX knowledge_of_source ON knowledge_entries (bot_id, source);
CREATE INDEX knowledge_of_file ON knowledge_entries (bot_id, file);

-- What bots capture. `follows` is the id of the request that this one adds to, `change` the change that waits for a decision, and `history` what
-- was changed (JSON). `assignee` is the id of an operator.
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
    updated_at INTEGER NOT NULL,
    note TEXT,
    assignee TEXT,
    urgent INTEGER NOT NULL DEFAULT 0,
    follows TEXT,
    change TEXT,
    history TEXT,
    item TEXT,
    end_date TEXT,
    end_time TEXT
) STRICT;
CREATE INDEX requests_of_bot ON requests (bot_id, number);
CREATE INDEX requests_of_conversation ON requests (conversation, created_at);
CREATE INDEX requests_by_status ON requests (bot_id, status, number);
CREATE INDEX requests_of_assignee ON requests (bot_id, assignee, number) WHERE assignee IS NOT NULL;
CREATE INDEX requests_urgent ON requests (bot_id, number) WHERE urgent = 1;
CREATE INDEX requests_following ON requests (follows) WHERE follows IS NOT NULL;

-- Appointments, each with its request.
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
CREATE INDEX appointments_by_status ON appointments (bot_id, status, request);
CREATE INDEX appointments_by_time ON appointments (bot_id, appointment_at);

-- Webhooks of bots.
CREATE TABLE webhooks (
    bot_id TEXT PRIMARY KEY REFERENCES bots (id),
    url TEXT,
    events TEXT NOT NULL,
    signing_key BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Events. An event stands in the transaction of its record; `state` is 0 pending, 1 attempted, 2 kept without sending.
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

-- Attempts to deliver events, with the signature and the answer. `success` is null while one is under way.
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
    duration_ms INTEGER,
    signature TEXT,
    answer BLOB,
    node TEXT
) STRICT;
CREATE INDEX webhook_attempts_of_bot ON webhook_attempts (bot_id, number);
CREATE INDEX webhook_attempts_of_event ON webhook_attempts (event_number, number);
CREATE INDEX webhook_attempts_under_way ON webhook_attempts (number) WHERE success IS NULL;
CREATE INDEX webhook_attempts_failed ON webhook_attempts (bot_id, number) WHERE success = 0;

-- A bot's own synonyms.
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

-- Questions without an answer. `masked` is 1 where names and contact data are masked, `group_id` the group of alike questions, and `is_answered`
-- whether the knowledge answers it, as the change number `checked_change` left it.
CREATE TABLE unanswered_questions (
    number INTEGER PRIMARY KEY,
    bot_id TEXT NOT NULL REFERENCES bots (id),
    folded TEXT NOT NULL,
    question TEXT NOT NULL,
    language TEXT NOT NULL,
    times INTEGER NOT NULL,
    first_asked_at INTEGER NOT NULL,
    last_asked_at INTEGER NOT NULL,
    masked INTEGER NOT NULL DEFAULT 0,
    group_id INTEGER,
    checked_change INTEGER,
    is_answered INTEGER NOT NULL DEFAULT 0,
    UNIQUE (bot_id, folded)
) STRICT;
CREATE INDEX unanswered_of_bot ON unanswered_questions (bot_id, times, last_asked_at);
CREATE INDEX unanswered_unmasked ON unanswered_questions (number) WHERE masked = 0;
CREATE INDEX unanswered_by_age ON unanswered_questions (bot_id, last_asked_at);
CREATE INDEX unanswered_by_group ON unanswered_questions (group_id);

-- The visitors behind the questions without an answer, so that erasure finds them.
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

-- Who administered what and when. `outcome` is null while it is being done, and stays so where the process ended meanwhile. `times` counts a
-- refused act that was tried again within a short time; `own` is 1 for what operators change of their own, which counts apart. `changes` are
-- settings with their values before and after, as JSON.
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
    outcome TEXT,
    times INTEGER NOT NULL DEFAULT 1,
    own INTEGER NOT NULL DEFAULT 0,
    changes TEXT
) STRICT;
CREATE INDEX audit_refused_of_actor ON audit_records (actor_id, operation, at) WHERE outcome = 'refused';
CREATE INDEX audit_of_account ON audit_records (account_id, own, number);
CREATE INDEX audit_of_share ON audit_records (actor_id, operation, account_id, own, outcome, number);

-- Operators of the dashboard. `totp` is the secret of the second factor, `totp_offered` one that is not confirmed yet, and `totp_used` the time step
-- of the last code, which is not accepted twice. `known_networks` are those from which an operator has signed in (JSON), which a stranger's wrong
-- passwords do not hold up. `timezone` is the zone of the times on an operator's pages.
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
    updated_at INTEGER NOT NULL,
    known_networks TEXT NOT NULL DEFAULT '[]',
    timezone TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX operators_by_age ON operators (created_at, id);

-- Roles of operators in accounts.
CREATE TABLE operator_roles (
    operator_id TEXT NOT NULL REFERENCES operators (id),
    account_id TEXT NOT NULL REFERENCES accounts (id),
    role TEXT NOT NULL,
    PRIMARY KEY (operator_id, account_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX operator_roles_of_account ON operator_roles (account_id);

-- Links by which operators set a password. One that was mailed leaves the second factor as it is.
CREATE TABLE operator_links (
    digest BLOB PRIMARY KEY,
    operator_id TEXT NOT NULL REFERENCES operators (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    mailed INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX operator_links_of_operator ON operator_links (operator_id);

-- Sessions. `to_show` is the digest of the secret that a session has to show, once.
CREATE TABLE operator_sessions (
    digest BLOB PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    operator_id TEXT NOT NULL REFERENCES operators (id),
    browser TEXT NOT NULL,
    address TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    verified INTEGER NOT NULL,
    account_id TEXT,
    to_show BLOB
) STRICT, WITHOUT ROWID;
CREATE INDEX operator_sessions_of_operator ON operator_sessions (operator_id, created_at);

-- Recovery codes of the second factor.
CREATE TABLE recovery_codes (
    operator_id TEXT NOT NULL REFERENCES operators (id),
    digest BLOB NOT NULL,
    PRIMARY KEY (operator_id, digest)
) STRICT, WITHOUT ROWID;

-- The history of changes to knowledge. `files` are those that a change replaces as a whole (JSON), `undoes` is the number of the change that it
-- takes back, `replaced` the rows before and after it (compressed JSON).
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

-- Channels. `identity` is a platform's own name of the bot's account there, `fault` why the platform refuses the channel, `seen_at` the time of
-- its last update, `verified_at` that of the callback's handshake. `refused_site` asked for the widget last and is none of its sites.
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
    fault TEXT,
    fault_at INTEGER,
    seen_at INTEGER,
    verified_at INTEGER,
    refused_site TEXT,
    refused_at INTEGER,
    UNIQUE (bot_id, channel),
    UNIQUE (channel, identity)
) STRICT, WITHOUT ROWID;

-- Digests of incoming messages. They stay when the message is erased: platforms deliver again for days.
CREATE TABLE incoming_keys (
    digest BLOB PRIMARY KEY,
    bot_id TEXT NOT NULL REFERENCES bots (id),
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX incoming_keys_of_bot ON incoming_keys (bot_id, created_at);

-- Addresses on WhatsApp lead to conversations. One that another conversation goes on with stays as the address of the older messages.
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

-- Messages that a bot sent on WhatsApp in a UTC month.
CREATE TABLE whatsapp_sends (
    number INTEGER PRIMARY KEY,
    bot_id TEXT NOT NULL REFERENCES bots (id),
    month TEXT NOT NULL,
    sent INTEGER NOT NULL,
    UNIQUE (bot_id, month)
) STRICT;

-- The queue of mails. `operator_id` is the operator whom a notice is for; `bot_id` and `conversation` are what it is about, null where it bundles
-- several. `created_at` is the time of the latest cause, `settled_at` that of the outcome; `appointment` is the one that a decision is about.
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
    answer TEXT,
    node TEXT,
    appointment INTEGER
) STRICT;
CREATE UNIQUE INDEX mails_queued_notices ON mails (operator_id, account_id, kind) WHERE state = 'queued' AND operator_id IS NOT NULL;
CREATE INDEX mails_of_operator ON mails (operator_id, account_id, kind, number) WHERE operator_id IS NOT NULL;
CREATE INDEX mails_of_account ON mails (account_id);
CREATE INDEX mails_of_conversation ON mails (conversation) WHERE conversation IS NOT NULL;
CREATE INDEX mails_by_state ON mails (state, due_at);
CREATE UNIQUE INDEX mails_queued_answers ON mails (conversation) WHERE state = 'queued' AND kind = 'answer';
CREATE INDEX mails_with_answers ON mails (recipient, created_at) WHERE kind = 'answer';

-- Notices in the team's group that a visitor waits since `since`; `digest` is that of the message's id there.
CREATE TABLE team_notices (
    conversation INTEGER NOT NULL REFERENCES conversations (number),
    since INTEGER NOT NULL,
    digest BLOB,
    PRIMARY KEY (conversation, since)
) STRICT, WITHOUT ROWID;
CREATE INDEX team_notices_by_digest ON team_notices (digest) WHERE digest IS NOT NULL;

-- The processes over one store. `written` is the number of a process's latest transaction.
CREATE TABLE nodes (
    id TEXT PRIMARY KEY,
    since INTEGER NOT NULL,
    listen TEXT NOT NULL,
    version TEXT NOT NULL,
    seen_at INTEGER NOT NULL,
    written INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- Turns that are being answered, where several processes work on one store.
CREATE TABLE open_turns (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    node TEXT NOT NULL,
    account_id TEXT,
    month TEXT,
    place BLOB,
    key TEXT,
    fingerprint BLOB,
    outcome TEXT,
    ended_at INTEGER,
    awaited INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX open_turns_by_account ON open_turns (account_id);
CREATE INDEX open_turns_by_place ON open_turns (place, number);
CREATE INDEX open_turns_by_end ON open_turns (ended_at) WHERE ended_at IS NOT NULL;

-- Digests of e-mail addresses whose owners want no more mails with answers from an account.
CREATE TABLE mail_stops (
    number INTEGER PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    digest BLOB NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX mail_stops_of_account ON mail_stops (account_id, digest);

-- Which of several processes does a named piece of work.
CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    node TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Failed attempts to sign in, by digests of e-mail and client addresses.
CREATE TABLE sign_in_failures (
    number INTEGER PRIMARY KEY,
    key BLOB NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX sign_in_failures_by_key ON sign_in_failures (key, at);
CREATE INDEX sign_in_failures_by_time ON sign_in_failures (at);

-- The number of the last message that an operator has seen in a conversation.
CREATE TABLE conversation_views (
    operator_id TEXT NOT NULL,
    conversation INTEGER NOT NULL REFERENCES conversations (number),
    message INTEGER NOT NULL,
    PRIMARY KEY (operator_id, conversation)
) STRICT, WITHOUT ROWID;
CREATE INDEX conversation_views_of_conversation ON conversation_views (conversation);

-- Notes of the team in conversations.
CREATE TABLE conversation_notes (
    number INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversations (number),
    id TEXT NOT NULL,
    author TEXT NOT NULL,
    text TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX conversation_notes_of_conversation ON conversation_notes (conversation, number);

-- Replies that the team has saved.
CREATE TABLE saved_replies (
    number INTEGER PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX saved_replies_of_account ON saved_replies (account_id, name);

-- The latest runs of a bot's tests.
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

-- Websites that bots read. `draft` holds what a reading made and nobody has applied yet, `attempts` counts readings that did not come back.
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
    draft BLOB,
    attempts INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX sites_of_bot ON sites (bot_id, url);
CREATE INDEX sites_reading ON sites (state);
CREATE INDEX sites_due ON sites (due_at);

-- Pages of a website, as they were read.
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

-- Entries that a website's reading has applied.
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

-- Counts of each bot and UTC day in one tree: beside an index, each row of a period would cost a search of its own. `item` is the entry, or the
-- seconds of a response.
CREATE TABLE day_counts (
    bot_id TEXT NOT NULL REFERENCES bots (id),
    name TEXT NOT NULL,
    day INTEGER NOT NULL,
    item TEXT NOT NULL,
    times INTEGER NOT NULL,
    PRIMARY KEY (bot_id, name, day, item)
) STRICT, WITHOUT ROWID;

