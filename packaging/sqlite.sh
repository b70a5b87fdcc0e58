# The SQLite that goes into the binary: the amalgamation, as this npm package carries it, and how it is compiled.
SQLITE_VERSION=3.54.1
SQLITE_PACKAGE=better-sqlite3@13.2.0
SQLITE_SHA256=75a4760a7b9727a4c4c877aec92eacf39e52a8f2921ce00bd33be6d3a8e8e254
SQLITE_OPTIONS=(
    -DSQLITE_THREADSAFE=1
    -DSQLITE_DQS=0
    -DSQLITE_ENABLE_COLUMN_METADATA # these three are what Python's module is linked against
    -DSQLITE_ENABLE_LOAD_EXTENSION
    -DSQLITE_ENABLE_SERIALIZE
    -DSQLITE_ENABLE_FTS5
    -DSQLITE_SECURE_DELETE
    -DSQLITE_TEMP_STORE=2
)
