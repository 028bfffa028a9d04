-- Call counts of one process. `at_us` counts on a timeline of the file's own; `written` says where that was by the wall clock,
-- `used_us` when a key of the month was written last.
CREATE TABLE IF NOT EXISTS calls (
    key_id TEXT NOT NULL, at_us INTEGER NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (key_id, at_us)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS monthly (
    key_id TEXT NOT NULL, month INTEGER NOT NULL, n INTEGER NOT NULL, used_us INTEGER NOT NULL,
    PRIMARY KEY (key_id, month)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS written (
    only INTEGER PRIMARY KEY CHECK (only = 1), wall_us INTEGER NOT NULL, at_us INTEGER NOT NULL
) WITHOUT ROWID;
