"""Translation of the store's SQL for PostgreSQL. Statements and migrations are written once, as SQLite reads them."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

# Functions of SQLite that PostgreSQL lacks, and the clock of the store in milliseconds. `max` and `min` of two values are NULL where one is
# NULL.
FUNCTIONS = """
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
    CREATE FUNCTION group_concat_step(before text, item text) RETURNS text LANGUAGE sql IMMUTABLE AS
        $$ SELECT CASE WHEN before IS NULL THEN item WHEN item IS NULL THEN before ELSE before || ',' || item END $$;
    CREATE AGGREGATE group_concat(text) (SFUNC = group_concat_step, STYPE = text);
    CREATE FUNCTION clock_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
        'SELECT (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000)::bigint';
"""
_PARAMETER = re.compile(r"'(?:[^']|'')*'|(?P<equal>\bIS )?(?:\?(?P<place>\d*)|(?<!:):(?P<name>[a-z_]\w*))")
_WORDS = (
    # Hints that fix the order in which SQLite joins, and its index.
    (re.compile(r"\bCROSS JOIN (?=(?:\([^()]*\)|\S+)(?: \w+)?\s+ON\b)"), "JOIN "),
    (re.compile(r" INDEXED BY \w+"), ""),
    (re.compile(r"(?<=[\s(=<>])\+(?=[a-z_])"), ""),
    (re.compile(r"\bjson_array\("), "json_build_array("),
    (re.compile(r"\bIS NOT (?=[?:])"), "IS DISTINCT FROM "),
    (re.compile(r"\bx'([0-9a-f]*)'"), r"'\\x\1'::bytea"),
    (re.compile(r"\bAS BLOB\)"), "AS BYTEA)"),
)
_AGGREGATES = {"json_group_array": ("json_agg", "[]"), "json_group_object": ("json_object_agg", "{}")}
# Steps whose statements are SQLite's own. 16: PostgreSQL never uses the number of a deleted row again.
OVERRIDES = {
    16: "",
    25: "INSERT INTO search_queue SELECT conversation FROM whatsapp_addresses ON CONFLICT DO NOTHING",
}
# Statements that PostgreSQL alone runs after a step. 32: requests of each key and minute, for the rate limit.
ADDITIONS = {
    32: """
    CREATE UNLOGGED TABLE chatsvc_requests (
        key_id text COLLATE "C", minute bigint, taken bigint NOT NULL, PRIMARY KEY (key_id, minute)
    );
    """,
    # Versions of accounts, which grow with each change whoever makes it: processes compare what they keep in memory. The second argument of
    # the first trigger names the column that changes without one.
    39: """
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
    """,
    # Knowledge is kept with the settings of its account.
    40: """
    CREATE FUNCTION chatsvc_note_knowledge() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO chatsvc_versions AS v
        SELECT b.account_id, 1, 0 FROM changed JOIN bots b ON b.id = changed.bot_id GROUP BY b.account_id ORDER BY b.account_id
        ON CONFLICT (account_id) DO UPDATE SET settings = v.settings + 1;
        RETURN NULL;
    END $$;
    CREATE TRIGGER chatsvc_learned AFTER INSERT ON knowledge_changes
        REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION chatsvc_note_knowledge();
    """,
}
_TYPES = (
    (re.compile(r" AUTOINCREMENT\b"), ""),
    (re.compile(r"\) STRICT(, WITHOUT ROWID)?"), ")"),
    (re.compile(r"\bnumber INTEGER PRIMARY KEY"), "number BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"),
    (re.compile(r"\bword ANY\b"), 'word TEXT COLLATE "C"'),
    (re.compile(r"\b(INTEGER|ANY)\b"), "BIGINT"),
    (re.compile(r"\bBLOB\b"), "BYTEA"),
    (re.compile(r"(?<!AS) TEXT\b(?! COLLATE)"), ' TEXT COLLATE "C"'),
)


class Translated(NamedTuple):
    """A statement with $1, $2 ...; `places` says which value each of them has: its index, or its name.

    compared: those that stand beside IS. PostgreSQL cannot tell the type of `$1 IS NULL`, knows no `column IS $1`, and searches no index
        for the same in its own words: where they are NULL the statement says so.
    """

    text: str
    places: tuple[int | str, ...]
    compared: frozenset[int | str]

    def arrange(self, values: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
        """Put the values in the order of the parameters."""
        if isinstance(values, Mapping):
            return [values[str(place)] for place in self.places]
        return [values[int(place)] for place in self.places]


def translate(statement: str, values: Sequence[Any] | Mapping[str, Any]) -> tuple[str, list[Any]]:
    """Translate a statement; return its text, and the values in the order of its parameters."""
    translated = _translate(statement)
    if translated.compared:
        nulls = frozenset(place for place in translated.compared if values[place] is None)  # type: ignore[index]
        if nulls:
            translated = _translate(statement, nulls)
    return translated.text, translated.arrange(values)


@lru_cache(maxsize=2048)
def _translate(statement: str, nulls: frozenset[int | str] = frozenset()) -> Translated:
    for found, instead in _WORDS:
        statement = found.sub(instead, statement)
    for name, (instead, empty) in _AGGREGATES.items():
        statement = _aggregate(statement, name, instead, empty)
    places: list[int | str] = []
    compared: set[int | str] = set()
    next_one = 0

    def number(found: re.Match[str]) -> str:
        nonlocal next_one
        if found[0].startswith("'"):
            return found[0]
        if found["name"]:
            place: int | str = found["name"]
        elif found["place"]:
            place = int(found["place"]) - 1
        else:
            place, next_one = next_one, next_one + 1
        if place in nulls:
            return f"{found['equal'] or ''}NULL"
        if found["equal"] or found.string.startswith(" IS", found.end()):
            compared.add(place)
        if place not in places:
            places.append(place)
        return f"{'= ' if found['equal'] else ''}${places.index(place) + 1}"

    return Translated(_PARAMETER.sub(number, statement), tuple(places), frozenset(compared))


def _aggregate(statement: str, name: str, instead: str, empty: str) -> str:
    """Rename an aggregate; without rows PostgreSQL's is NULL, SQLite's is empty."""
    start = statement.find(f"{name}(")
    while start >= 0:
        end, depth = start + len(name) + 1, 1
        while depth:
            depth += {"(": 1, ")": -1}.get(statement[end], 0)
            end += 1
        statement = f"{statement[:start]}coalesce({instead}{statement[start + len(name) : end]}, '{empty}'){statement[end:]}"
        start = statement.find(f"{name}(")
    return statement


def translate_schema(number: int, step: str) -> str:
    """Translate a migration."""
    if number in OVERRIDES:
        return OVERRIDES[number]
    for found, instead in _TYPES:
        step = found.sub(instead, step)
    return f"{step};{ADDITIONS[number]}" if number in ADDITIONS else step
