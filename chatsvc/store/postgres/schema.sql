-- What PostgreSQL has beside the tables of store/sqlite/schema.sql.

-- Functions of SQLite, and the clock of the store in milliseconds. `max` and `min` of two values are null where one of them is.
CREATE FUNCTION json_each(list text) RETURNS TABLE (key bigint, value text) LANGUAGE sql IMMUTABLE STRICT ROWS 20 AS
    'SELECT place - 1, item COLLATE "C" FROM pg_catalog.json_array_elements_text(list::json) WITH ORDINALITY AS one (item, place)';
CREATE FUNCTION json_extract(document text, path text) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$ SELECT pg_catalog.json_extract_path_text(document::json, trim(both '$.[]' from path)) $$;
CREATE FUNCTION instr(document text, part text) RETURNS bigint LANGUAGE sql IMMUTABLE AS
    'SELECT pg_catalog.strpos(document, part)::bigint';
CREATE FUNCTION max(one bigint, other bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
    'SELECT CASE WHEN one >= other THEN one WHEN other > one THEN other END';
CREATE FUNCTION min(one bigint, other bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
    'SELECT CASE WHEN one <= other THEN one WHEN other < one THEN other END';
CREATE FUNCTION clock_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
    'SELECT (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000)::bigint';

-- Requests of each key and minute, for the rate limit.
CREATE UNLOGGED TABLE chatsvc_requests (
    key_id text COLLATE "C", minute bigint, taken bigint NOT NULL, PRIMARY KEY (key_id, minute)
);

-- Versions of accounts, which grow with each change whoever makes it: processes compare what they keep in memory. The second argument of the
-- first trigger names the column that changes without a new version.
CREATE TABLE chatsvc_versions (
    account_id text COLLATE "C" PRIMARY KEY, settings bigint NOT NULL, activity bigint NOT NULL
) WITH (fillfactor = 50);
CREATE FUNCTION chatsvc_note_settings() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    before jsonb := CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) - TG_ARGV[1] END;
    after jsonb := CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) - TG_ARGV[1] END;
BEGIN
    IF before IS DISTINCT FROM after THEN
        INSERT INTO chatsvc_versions AS v
        SELECT account_id, 1, 0 FROM (VALUES (before ->> TG_ARGV[0]), (after ->> TG_ARGV[0])) AS changed (account_id)
        WHERE account_id IS NOT NULL GROUP BY account_id ORDER BY account_id
        ON CONFLICT (account_id) DO UPDATE SET settings = v.settings + 1;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER chatsvc_settings AFTER UPDATE OR DELETE OR INSERT ON accounts
    FOR EACH ROW EXECUTE FUNCTION chatsvc_note_settings('id', 'message_credits');
CREATE TRIGGER chatsvc_settings AFTER UPDATE OR DELETE OR INSERT ON api_keys
    FOR EACH ROW EXECUTE FUNCTION chatsvc_note_settings('account_id', 'last_used_at');
CREATE TRIGGER chatsvc_settings AFTER UPDATE OR DELETE OR INSERT ON bots
    FOR EACH ROW EXECUTE FUNCTION chatsvc_note_settings('account_id', 'messages_used');
CREATE FUNCTION chatsvc_note_activity() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO chatsvc_versions AS v SELECT account_id, 0, 1 FROM changed GROUP BY account_id ORDER BY account_id
    ON CONFLICT (account_id) DO UPDATE SET activity = v.activity + 1;
    RETURN NULL;
END $$;
CREATE TRIGGER chatsvc_begun AFTER INSERT ON conversations
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION chatsvc_note_activity();
CREATE TRIGGER chatsvc_continued AFTER UPDATE ON conversations
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION chatsvc_note_activity();
CREATE TRIGGER chatsvc_removed AFTER DELETE ON conversations
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION chatsvc_note_activity();

-- Knowledge is kept with the settings of its account.
CREATE FUNCTION chatsvc_note_knowledge() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO chatsvc_versions AS v
    SELECT b.account_id, 1, 0 FROM changed JOIN bots b ON b.id = changed.bot_id GROUP BY b.account_id ORDER BY b.account_id
    ON CONFLICT (account_id) DO UPDATE SET settings = v.settings + 1;
    RETURN NULL;
END $$;
CREATE TRIGGER chatsvc_learned AFTER INSERT ON knowledge_changes
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION chatsvc_note_knowledge();
