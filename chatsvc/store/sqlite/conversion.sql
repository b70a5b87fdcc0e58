-- Steps that lead from schema version 44 to that of schema.sql, for stores from before the first release.

-- 45: how a business is reached, and its appointments.
ALTER TABLE bots ADD COLUMN phone TEXT;
ALTER TABLE bots ADD COLUMN email TEXT;
ALTER TABLE bots ADD COLUMN address TEXT;
ALTER TABLE bots ADD COLUMN appointment_minutes INTEGER NOT NULL DEFAULT 30;
ALTER TABLE bots ADD COLUMN appointments_at_once INTEGER NOT NULL DEFAULT 1;

-- 46: changes of records, what was decided of them, and visitors for whom nobody came.
ALTER TABLE requests ADD COLUMN urgent INTEGER NOT NULL DEFAULT 0;
ALTER TABLE requests ADD COLUMN follows TEXT;
ALTER TABLE requests ADD COLUMN change TEXT;
ALTER TABLE requests ADD COLUMN history TEXT;
ALTER TABLE conversations ADD COLUMN missed_at INTEGER;
ALTER TABLE bots ADD COLUMN calendar INTEGER NOT NULL DEFAULT 0;
CREATE INDEX requests_following ON requests (follows) WHERE follows IS NOT NULL;
CREATE INDEX conversations_missed ON conversations (account_id, last_message_at, number) WHERE missed_at IS NOT NULL;

-- 47: readings of a site that began and did not come back.
ALTER TABLE sites ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;

-- 48: the group of a question without an answer, and whether the knowledge answers it, as a change left it. All are judged anew.
ALTER TABLE unanswered_questions ADD COLUMN group_id INTEGER;
ALTER TABLE unanswered_questions ADD COLUMN checked_change INTEGER;
ALTER TABLE unanswered_questions ADD COLUMN is_answered INTEGER NOT NULL DEFAULT 0;
CREATE INDEX unanswered_by_group ON unanswered_questions (group_id);
UPDATE unanswered_questions SET masked = 0;

-- 49: the site that asked for a widget without being one of its sites.
ALTER TABLE channels ADD COLUMN refused_site TEXT;
ALTER TABLE channels ADD COLUMN refused_at INTEGER;

-- 50: mails that tell a customer of an appointment.
ALTER TABLE mails ADD COLUMN appointment INTEGER;

-- 51: records of the audit log by the share of their actor and operation.
DROP INDEX audit_refused;
DROP INDEX audit_of_operator;
CREATE INDEX audit_of_share ON audit_records (actor_id, operation, account_id, own, number);

-- 52: conversations that a team has set aside, for a while or as done, and their labels.
ALTER TABLE conversations ADD COLUMN set_aside_at INTEGER;
ALTER TABLE conversations ADD COLUMN set_aside_until INTEGER;
ALTER TABLE conversations ADD COLUMN labels TEXT;
CREATE INDEX conversations_set_aside ON conversations (account_id, last_message_at, number) WHERE set_aside_at IS NOT NULL;
CREATE INDEX conversations_snoozed ON conversations (account_id, last_message_at, number) WHERE set_aside_until IS NOT NULL;
CREATE INDEX conversations_labelled ON conversations (account_id, last_message_at, number) WHERE labels IS NOT NULL;

-- 53: urgent requests come first.
CREATE INDEX requests_urgent ON requests (bot_id, number) WHERE urgent = 1;

-- 54: answers by Idempotency-Key are objects; those of the last day are given up.
DELETE FROM idempotency_keys;

-- 55: what a team notes of visitors, and those who are known.
ALTER TABLE conversations ADD COLUMN visitor_phone TEXT;
ALTER TABLE conversations ADD COLUMN visitor_note TEXT;
UPDATE conversations SET visitor_phone = (SELECT r.visitor_phone FROM requests r
    WHERE r.conversation = conversations.number AND r.visitor_phone IS NOT NULL ORDER BY r.number DESC LIMIT 1);
CREATE INDEX conversations_known ON conversations (account_id, last_message_at, number)
    WHERE visitor_name IS NOT NULL OR visitor_email IS NOT NULL OR visitor_phone IS NOT NULL;

-- 56: what is booked, and until when.
ALTER TABLE requests ADD COLUMN item TEXT;
ALTER TABLE requests ADD COLUMN end_date TEXT;
ALTER TABLE requests ADD COLUMN end_time TEXT;

-- 57: the share of the audit log counts each outcome apart; a record says what was changed; links by mail.
DROP INDEX audit_of_share;
CREATE INDEX audit_of_share ON audit_records (actor_id, operation, account_id, own, outcome, number);
ALTER TABLE audit_records ADD COLUMN changes TEXT;
ALTER TABLE operator_links ADD COLUMN mailed INTEGER NOT NULL DEFAULT 0;

-- 58: a search reads the conversations themselves, and those of one visitor are found by their addresses.
DROP TABLE search_queue;
DROP TABLE search_documents;
DROP TABLE search_words;
CREATE INDEX conversations_by_email ON conversations (account_id, lower(visitor_email)) WHERE visitor_email IS NOT NULL;
CREATE INDEX conversations_by_phone ON conversations (account_id, visitor_phone) WHERE visitor_phone IS NOT NULL;
