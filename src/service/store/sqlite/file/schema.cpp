// SPDX-License-Identifier: MIT
// Each version is a script that upgrades the version before, in a transaction of its own.
// user_version is the number of scripts that have run, and application_id marks the file as a task
// store. A script never changes once it is released, since existing files have run it. Scripts only
// add, with defaults, so that a process of an older version that still has the file open continues
// to work.
//
// Most of a task's cost is index updates, so one index serves all purposes: a task is always in one
// line, at a rank. The lines are: due tasks (one line per flow and one per branch, by priority),
// tasks that are due later (one per queue, by that time), tasks that wait for a delay (one per
// queue, 8 * queue + 5, by its end on the steady clock), tasks that wait for other tasks (one per
// queue, 8 * queue + 7), running tasks (one per node), and ended tasks (one per state, by the time
// of their end). A flow is the set of tasks of one queue with the
// same flow key; the tasks without a key are a flow, too. A branch is the set of tasks of one flow
// with the same destination; tasks without a destination are in no branch.
//
// Tasks for workers have a pool, the destination of their kind whose name is empty. A pool asks for
// a pause that never ends, so the branches of a pool are always parked, also for a process of a
// version that does not know pools: no claim of a node sees them. A parked branch of a pool is
// offered to workers while its flow may take tasks, in an index by pool, queue and turn; otherwise
// its flow holds it.

#include "service/store/sqlite/file/schema.hpp"

#include <weir/db/sqlite/error.hpp>
#include <weir/service/store.hpp>

#include <cstdint>
#include <iterator>

namespace weir::service::detail {

namespace {

constexpr std::int64_t application = 0x57656972;  // 'Weir'

constexpr const char* versions[] = {
    R"sql(
CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES('probes', 0);

CREATE TABLE queues(
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    is_paused INTEGER NOT NULL DEFAULT 0,
    max_pending INTEGER NOT NULL DEFAULT 0,
    max_running INTEGER NOT NULL DEFAULT 0,
    rate REAL NOT NULL DEFAULT 0,
    burst INTEGER NOT NULL DEFAULT 1,
    key_max_running INTEGER NOT NULL DEFAULT 0,
    key_rate REAL NOT NULL DEFAULT 0,
    key_burst INTEGER NOT NULL DEFAULT 1,
    pending INTEGER NOT NULL DEFAULT 0,    -- tasks by state
    running INTEGER NOT NULL DEFAULT 0,
    completed INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0,
    due INTEGER NOT NULL DEFAULT 0,        -- of the pending
    turn INTEGER NOT NULL DEFAULT 0,       -- its last
    full_at INTEGER NOT NULL DEFAULT 0);   -- of its rate, in nanoseconds

CREATE TABLE flows(
    id INTEGER PRIMARY KEY,
    queue INTEGER NOT NULL,
    key TEXT NOT NULL,
    tasks INTEGER NOT NULL DEFAULT 0,      -- all there are
    due INTEGER NOT NULL DEFAULT 0,
    running INTEGER NOT NULL DEFAULT 0,
    turn INTEGER NOT NULL DEFAULT 0,
    full_at INTEGER NOT NULL DEFAULT 0,
    place INTEGER NOT NULL DEFAULT 0,      -- 0 nothing is due, 1 ready, 2 key_max_running, 3 key_rate
    free_at INTEGER NOT NULL DEFAULT 0,    -- from key_rate
    UNIQUE(queue, key));
CREATE INDEX flows_ready ON flows(queue, turn) WHERE place = 1;
CREATE INDEX flows_slowed ON flows(queue, free_at) WHERE place = 3;
CREATE INDEX flows_empty ON flows(full_at) WHERE tasks = 0;

CREATE TABLE tasks(
    id INTEGER PRIMARY KEY,
    queue INTEGER NOT NULL,
    flow INTEGER NOT NULL,
    state INTEGER NOT NULL,                -- 0 pending, 1 running, 2 completed, 3 failed, 4 cancelled
    line INTEGER NOT NULL,                 -- 8 * flow: due; 8 * queue + 1: later; 8 * node + 2: running;
    rank INTEGER NOT NULL,                 -- 8 * state + 3: ended
    is_cancelling INTEGER NOT NULL DEFAULT 0,
    priority INTEGER NOT NULL,
    run INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    crashes INTEGER NOT NULL DEFAULT 0,
    node INTEGER,
    created_at INTEGER NOT NULL,           -- microseconds since 1970, as all times
    due_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    kind TEXT NOT NULL,
    run_at INTEGER,                        -- as asked for; so the next ones: null is the default
    timeout_ms INTEGER,
    max_attempts INTEGER,
    backoff_ms INTEGER,
    factor REAL,
    max_backoff_ms INTEGER,
    jitter REAL,
    idempotency_key TEXT,
    tags TEXT,                             -- JSON
    progress REAL,
    message TEXT,
    held_by TEXT,
    error TEXT,
    payload TEXT,                          -- JSON; null: a long one, in payloads
    result TEXT);
CREATE INDEX tasks_line ON tasks(line, rank);
CREATE UNIQUE INDEX tasks_once ON tasks(idempotency_key) WHERE idempotency_key IS NOT NULL;

-- Apart, so that a change of the task does not write them again.
CREATE TABLE payloads(task INTEGER PRIMARY KEY, payload TEXT NOT NULL);
CREATE TABLE tags(tag TEXT NOT NULL, task INTEGER NOT NULL, PRIMARY KEY(tag, task)) WITHOUT ROWID;

-- Runs that did not complete their task; end: 0 failed, 1 timed out, 2 crashed, 3 postponed, 4 cancelled.
CREATE TABLE attempts(
    task INTEGER NOT NULL,
    run INTEGER NOT NULL,
    end INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    error TEXT NOT NULL,
    node TEXT NOT NULL,
    PRIMARY KEY(task, run)) WITHOUT ROWID;

-- Processes. One that has lost its lease stays a while, so that it learns of it.
CREATE TABLE nodes(
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    is_gone INTEGER NOT NULL DEFAULT 0);

CREATE TABLE schedules(
    name TEXT PRIMARY KEY,
    cron TEXT NOT NULL,
    zone TEXT NOT NULL,
    missed INTEGER NOT NULL,               -- 0 run the latest, 1 skip
    is_paused INTEGER NOT NULL,
    task TEXT NOT NULL,                    -- JSON
    next_slot INTEGER NOT NULL,
    last_slot INTEGER,
    last_task INTEGER) WITHOUT ROWID;
)sql",
    R"sql(
ALTER TABLE queues ADD COLUMN used_at INTEGER NOT NULL DEFAULT 0;  -- last; empty ones go some time later
ALTER TABLE nodes ADD COLUMN gone_at INTEGER;                      -- when it was found to be; so they do
CREATE INDEX nodes_here ON nodes(expires_at) WHERE is_gone = 0;
CREATE INDEX nodes_gone ON nodes(gone_at) WHERE is_gone = 1;
)sql",
    R"sql(
ALTER TABLE tasks ADD COLUMN branch INTEGER;   -- due in line 8 * branch + 4; null: it has no destination
ALTER TABLE flows ADD COLUMN ready_branches INTEGER NOT NULL DEFAULT 0;  -- flows.due is without branches
CREATE INDEX flows_hidden ON flows(id) WHERE place = 0 AND ready_branches > 0;  -- by an older process

CREATE TABLE destination_kinds(                -- of tasks; with the limits of each destination
    id INTEGER PRIMARY KEY,
    kind_name TEXT NOT NULL UNIQUE,
    max_running INTEGER NOT NULL DEFAULT 0,
    rate REAL NOT NULL DEFAULT 0,
    burst INTEGER NOT NULL DEFAULT 1,
    open_after INTEGER NOT NULL DEFAULT 0,
    open_for INTEGER NOT NULL DEFAULT 30000);  -- milliseconds

CREATE TABLE destinations(
    id INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    name TEXT NOT NULL,
    branches INTEGER NOT NULL DEFAULT 0,       -- all there are
    parked INTEGER NOT NULL DEFAULT 0,         -- of these
    due INTEGER NOT NULL DEFAULT 0,            -- tasks
    running INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,       -- in a row
    full_at INTEGER NOT NULL DEFAULT 0,        -- of its rate, in nanoseconds
    not_before INTEGER NOT NULL DEFAULT 0,     -- a pause that it asked for
    open_until INTEGER NOT NULL DEFAULT 0,     -- its circuit
    turn INTEGER NOT NULL DEFAULT 0,
    place INTEGER NOT NULL DEFAULT 0,          -- 0 none is parked, 1 ready, 2 max_running, 3 until free_at
    free_at INTEGER NOT NULL DEFAULT 0,
    UNIQUE(kind, name));
CREATE INDEX destinations_ready ON destinations(turn) WHERE place = 1;
CREATE INDEX destinations_full ON destinations(turn) WHERE place = 2;
CREATE INDEX destinations_slowed ON destinations(free_at) WHERE place = 3;
CREATE INDEX destinations_empty ON destinations(id) WHERE branches = 0;

CREATE TABLE branches(
    id INTEGER PRIMARY KEY,
    flow INTEGER NOT NULL,
    destination INTEGER NOT NULL,
    tasks INTEGER NOT NULL DEFAULT 0,          -- all there are
    due INTEGER NOT NULL DEFAULT 0,
    rank INTEGER NOT NULL DEFAULT 0,           -- of its first due task, while it is ready
    head INTEGER NOT NULL DEFAULT 0,           -- that task
    turn INTEGER NOT NULL DEFAULT 0,
    place INTEGER NOT NULL DEFAULT 0,          -- 0 nothing is due, 1 ready, 2 parked at its destination
    UNIQUE(flow, destination));
CREATE INDEX branches_ready ON branches(flow, rank, head) WHERE place = 1;
CREATE INDEX branches_parked ON branches(destination, turn) WHERE place = 2;
CREATE INDEX branches_empty ON branches(id) WHERE tasks = 0;
)sql",
    R"sql(
ALTER TABLE nodes ADD COLUMN clock_offset INTEGER;  -- expires_at is on a steady clock since then
)sql",
    R"sql(
ALTER TABLE tasks ADD COLUMN unique_key TEXT;
ALTER TABLE tasks ADD COLUMN unique_for INTEGER;  -- null: until it has ended; 1: until it starts
-- The last task with each key. Whether it still holds the key follows from its state.
CREATE TABLE unique_keys(key TEXT PRIMARY KEY, task INTEGER NOT NULL) WITHOUT ROWID;
)sql",
    R"sql(
ALTER TABLE flows ADD COLUMN is_paused INTEGER NOT NULL DEFAULT 0;     -- then its place is 4
ALTER TABLE flows ADD COLUMN own_max_running INTEGER;                  -- null: the queue's
ALTER TABLE flows ADD COLUMN own_rate REAL;
ALTER TABLE flows ADD COLUMN own_burst INTEGER;
ALTER TABLE flows ADD COLUMN has_settings INTEGER NOT NULL DEFAULT 0;  -- one of these
ALTER TABLE queues ADD COLUMN keys_set INTEGER NOT NULL DEFAULT 0;     -- flows with settings
CREATE INDEX flows_set ON flows(queue, key) WHERE has_settings = 1;

-- Endpoints that have answered that they are gone for good. Tasks for them fail at once.
CREATE TABLE disabled_endpoints(
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    since INTEGER NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY(kind, name)) WITHOUT ROWID;
)sql",
    R"sql(
ALTER TABLE tasks ADD COLUMN callbacks TEXT;    -- JSON; null: none
ALTER TABLE tasks ADD COLUMN traceparent TEXT;  -- W3C Trace Context
ALTER TABLE tasks ADD COLUMN tracestate TEXT;
-- Tasks that the end of a task has created.
CREATE TABLE follow_ups(
    task INTEGER NOT NULL,
    created INTEGER NOT NULL,
    PRIMARY KEY(task, created)) WITHOUT ROWID;
-- 0 queue, 1 skip, 2 replace the last task if it has not ended.
ALTER TABLE schedules ADD COLUMN overlap INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN secret TEXT;         -- JSON: members of the payload not to be shown
)sql",
    R"sql(
-- Results that handlers have kept for the later runs of their task.
CREATE TABLE steps(
    id INTEGER PRIMARY KEY,
    task INTEGER NOT NULL,
    name TEXT NOT NULL,
    kept_at INTEGER NOT NULL,
    result TEXT NOT NULL,                 -- JSON
    UNIQUE(task, name));
ALTER TABLE tasks ADD COLUMN steps INTEGER;       -- their number; null: none
ALTER TABLE tasks ADD COLUMN step_bytes INTEGER;  -- of all their results
)sql",
    R"sql(
ALTER TABLE branches ADD COLUMN pool INTEGER;     -- its destination, if that is a pool
-- Of a pool with due tasks: its queue, if its flow may take tasks; 0: the flow holds it.
ALTER TABLE branches ADD COLUMN offered INTEGER;
ALTER TABLE branches ADD COLUMN free_at INTEGER NOT NULL DEFAULT 0;      -- held by a rate until then
ALTER TABLE flows ADD COLUMN held_branches INTEGER NOT NULL DEFAULT 0;
CREATE INDEX flows_holding ON flows(id) WHERE held_branches > 0;
CREATE INDEX branches_offered ON branches(pool, offered, turn) WHERE offered > 0;
CREATE INDEX branches_slowed ON branches(pool, free_at) WHERE free_at > 0;
CREATE INDEX branches_hidden ON branches(pool)    -- by an older process
    WHERE pool > 0 AND due > 0 AND offered IS NULL;
-- The last turn of a queue among the tasks of a pool. Branches have theirs, as flows do.
CREATE TABLE pool_turns(
    pool INTEGER NOT NULL,
    queue INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    PRIMARY KEY(pool, queue)) WITHOUT ROWID;
INSERT INTO meta VALUES('pool_turns', 0);         -- of all pools

-- Sessions of workers: each is a node, without a host. A running task of a session has the number of
-- the poll that has claimed it as its rank.
CREATE TABLE workers(
    node INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    kinds TEXT NOT NULL,                          -- JSON
    queues TEXT NOT NULL,                         -- JSON
    sdk TEXT NOT NULL,
    is_draining INTEGER NOT NULL DEFAULT 0,
    free INTEGER NOT NULL DEFAULT 0,
    heard_at INTEGER NOT NULL,                    -- on the steady clock, so the next ones
    polled_at INTEGER,
    beat_at INTEGER NOT NULL DEFAULT 0,           -- the last heartbeat that counts
    last_poll INTEGER NOT NULL DEFAULT 0,         -- the highest number
    last_claim INTEGER NOT NULL DEFAULT 0,        -- the highest number that has got tasks
    known_claim INTEGER NOT NULL DEFAULT 0);      -- last_claim at beat_at
CREATE TABLE worker_kinds(kind TEXT PRIMARY KEY) WITHOUT ROWID;
)sql",
    R"sql(
ALTER TABLE tasks ADD COLUMN waits INTEGER;         -- unmet dependencies; null: it has none at all
ALTER TABLE tasks ADD COLUMN has_children INTEGER;  -- 1: tasks depend on it, or did
ALTER TABLE tasks ADD COLUMN payload_from INTEGER;  -- the parent whose result becomes the payload
ALTER TABLE tasks ADD COLUMN in_group INTEGER;
ALTER TABLE tasks ADD COLUMN is_detached INTEGER;   -- 1: retried after the end of its group
CREATE INDEX tasks_group ON tasks(in_group) WHERE in_group IS NOT NULL;

CREATE TABLE edges(
    child INTEGER NOT NULL,
    parent INTEGER NOT NULL,           -- may be gone
    policy INTEGER NOT NULL,           -- 0 cancel, 1 run, 2 hold
    outcome INTEGER,                   -- null: open; 1 completed, 2 failed, 3 cancelled, 4 gone
    PRIMARY KEY(child, parent)) WITHOUT ROWID;
CREATE INDEX edges_parent ON edges(parent);

CREATE TABLE task_groups(
    id INTEGER PRIMARY KEY,
    name TEXT,
    queue TEXT NOT NULL,
    idempotency_key TEXT,
    state INTEGER NOT NULL DEFAULT 0,  -- 0 open, 1 cancelling, 2 completed, 3 failed, 4 cancelled
    is_sealed INTEGER NOT NULL,
    on_failure INTEGER NOT NULL,       -- as the policy of edges
    runs_on_cancel INTEGER NOT NULL,   -- its callback
    total INTEGER NOT NULL DEFAULT 0,  -- members
    open INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0,
    callback TEXT,                     -- JSON
    callback_task INTEGER,
    created_at INTEGER NOT NULL,
    finished_at INTEGER,
    purge_at INTEGER);                 -- when to look again whether it can be removed; null: open
CREATE UNIQUE INDEX groups_once ON task_groups(idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX groups_cancelling ON task_groups(id) WHERE state = 1;
CREATE INDEX groups_ended ON task_groups(purge_at) WHERE purge_at IS NOT NULL;

-- What ends of tasks and cancels of groups still have to do, where one transaction was not enough.
CREATE TABLE ripples(
    kind INTEGER NOT NULL,             -- see task_ends.hpp
    id INTEGER NOT NULL,
    outcome INTEGER NOT NULL,
    after INTEGER NOT NULL,            -- the last task that was told
    PRIMARY KEY(kind, id)) WITHOUT ROWID;
)sql",
    R"sql(
-- Where the line of the due tasks begins, where searches pass over dead rows; null: unknown.
ALTER TABLE flows ADD COLUMN head_rank INTEGER;
ALTER TABLE flows ADD COLUMN head_id INTEGER;
)sql",
    R"sql(
ALTER TABLE tasks ADD COLUMN expires_at INTEGER;
-- Until that time: see expiry.cpp.
CREATE TABLE expiries(task INTEGER PRIMARY KEY, at INTEGER NOT NULL);
CREATE INDEX expiries_at ON expiries(at);
)sql"};

// Programs of version 11 do not know expires_at: they may begin a task that has expired. Programs
// of version 12 end those that they find.
constexpr std::int64_t oldest_compatible = 11;

std::int64_t pragma(sqlite::session& session, const char* name) {
    return session.query(std::string("PRAGMA ") + name).one<std::int64_t>();
}

}  // namespace

std::span<const char* const> schema_steps() noexcept {
    return versions;
}

std::int64_t newest_schema() noexcept {
    return std::ssize(versions);
}

std::int64_t oldest_compatible_program() noexcept {
    return oldest_compatible;
}

std::int64_t check_schema(sqlite::session& session, const std::string& path,
                          std::span<const char* const> steps) {
    const std::int64_t newest = std::ssize(steps);
    const std::int64_t found = pragma(session, "user_version");
    const bool is_empty = session.query("SELECT 1 FROM sqlite_schema LIMIT 1").empty();
    if (!is_empty && pragma(session, "application_id") != application) {
        throw store_unavailable(path + " is the database of another program, not a task store",
                                db::retry_advice::no);
    }
    if (found > newest) {
        throw store_unavailable(path + " has schema version " + std::to_string(found) +
                                    ", and this program supports versions up to " +
                                    std::to_string(newest) + ": use a newer program",
                                db::retry_advice::no);
    }
    return found;
}

bool prepare_schema(sqlite::session& session, const std::string& path,
                    std::span<const char* const> steps) {
    const std::int64_t found = check_schema(session, path, steps);
    if (found == std::ssize(steps)) {
        // A read-only file fails here, and not at the first task.
        session.execute("UPDATE meta SET value = value + 1 WHERE name = 'probes'");
        return false;
    }
    try {
        session.script(steps[static_cast<std::size_t>(found)]);
        session.script("PRAGMA application_id = " + std::to_string(application) +
                       "; PRAGMA user_version = " + std::to_string(found + 1));
    } catch (const sqlite::error& error) {
        throw sqlite::error(error.code(), "upgrading the schema from version " +
                                              std::to_string(found) + " to " +
                                              std::to_string(found + 1) + ": " + error.what());
    }
    return true;
}

}  // namespace weir::service::detail
