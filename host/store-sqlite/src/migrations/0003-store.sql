-- What other programs look for in the file.
CREATE TABLE about (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
-- By this row programs that know layouts 1 and 2 only see that the file is not for them.
INSERT INTO about VALUES ('minimum-core', '0.2.0');

-- What made the layout; the fingerprint is of the migration's text.
CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, fingerprint TEXT NOT NULL) STRICT;

-- What every snapshot begins with; one row.
CREATE TABLE counters (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  layout INTEGER NOT NULL,    -- as in user_version: of these tables
  records INTEGER NOT NULL,   -- of the texts and keys that the core writes
  last_time INTEGER NOT NULL, -- greatest committed time, ms since the Unix epoch
  commits INTEGER NOT NULL,   -- how many batches were committed
  stamps INTEGER NOT NULL,    -- the last number given to a fact
  audit INTEGER NOT NULL,     -- the last audit position
  effects INTEGER NOT NULL,   -- the last number given to a stored effect
  settled INTEGER NOT NULL,   -- how often the journal has gone on in its other half
  slots INTEGER NOT NULL,     -- how many slots of this half are in use
  before INTEGER NOT NULL,    -- how many of the other half are; 0 where all of it is carried over into the tables
  carried INTEGER NOT NULL,   -- how many of the changes in the other half are carried over
  sum INTEGER NOT NULL        -- of all of these
) STRICT;

-- Small numbers for (collection, index); the index without a name is by id.
CREATE TABLE names (
  number INTEGER PRIMARY KEY,
  collection TEXT NOT NULL,
  index_name TEXT NOT NULL,
  UNIQUE (collection, index_name)
) STRICT;

-- The rows, in the order in which they were made. What is short comes before the body, so that it is read without it.
CREATE TABLE facts (
  stamp INTEGER PRIMARY KEY,
  revision INTEGER NOT NULL,
  name INTEGER NOT NULL,      -- of the collection's index without a name
  id TEXT NOT NULL,
  keys BLOB NOT NULL,         -- all entries of the row but that by id
  sum INTEGER NOT NULL,       -- of all of these and body_sum
  body_sum INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;

-- The audit records: only added, found by their position without an entry.
CREATE TABLE audit (
  position INTEGER PRIMARY KEY,
  keys BLOB NOT NULL,         -- all entries of the record
  sum INTEGER NOT NULL,       -- of all of these
  body TEXT NOT NULL
) STRICT;

-- Where rows are found. In an index of the audit, stamp is a position.
CREATE TABLE entries (
  name INTEGER NOT NULL,
  key TEXT NOT NULL,
  stamp INTEGER NOT NULL,
  PRIMARY KEY (name, key, stamp)
) STRICT, WITHOUT ROWID;

-- What was committed and is not in the tables above yet, in slots of one page each; they are used again. Two halves take
-- turns: the second one begins at slot 1048576.
CREATE TABLE journal (slot INTEGER PRIMARY KEY, chunk BLOB NOT NULL) STRICT;

-- Repeatable effects. In a lease, due is its end.
CREATE TABLE outbox (
  id INTEGER PRIMARY KEY,
  due INTEGER NOT NULL,       -- ms since the Unix epoch
  fence INTEGER NOT NULL,     -- how often it was leased
  name TEXT NOT NULL,
  key TEXT NOT NULL,
  body TEXT NOT NULL,
  failed TEXT,                -- why nobody could perform it as things were, for people; null where it only has to wait
  sum INTEGER NOT NULL        -- of all of these
) STRICT;
CREATE INDEX outbox_due ON outbox (due);
