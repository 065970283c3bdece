// SPDX-License-Identifier: MIT
// A file as version 1 of the tables has left it, with tasks in all states. Never to be changed:
// there are such files.
#pragma once

namespace store_test {

inline constexpr const char* version_1 = R"sql(
PRAGMA application_id = 1466263922;
PRAGMA user_version = 1;
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
)sql";

// Times are microseconds; 1778846400000000 is noon of the 15th of May 2026, two days before the
// tests' own time. Node 1 has said goodbye, 2 died, 3 is alive for an hour after that noon.
inline constexpr const char* version_1_tasks = R"sql(
INSERT INTO nodes(number, id, host, pid, started_at, expires_at, is_gone) VALUES
    (1, 'left', 'here', 7, 0, 0, 1),
    (2, 'died', 'here', 8, 0, 1778846400000000, 1),
    (3, 'runs', 'here', 9, 0, 1778850000000000, 0);
INSERT INTO queues(id, name, is_paused, max_running, rate, burst, pending, running, completed, failed, cancelled, due,
                   turn, full_at) VALUES
    (1, 'default', 0, 0, 0, 1, 2, 1, 1, 1, 1, 1, 5, 0),
    (2, 'mail', 1, 4, 10, 3, 1, 0, 0, 0, 0, 1, 2, 0),
    (3, 'forgotten', 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0);
INSERT INTO flows(id, queue, key, tasks, due, running, turn, place) VALUES
    (1, 1, '', 5, 1, 0, 5, 1),
    (2, 1, 'alice', 1, 0, 1, 4, 0),
    (3, 2, '', 1, 1, 0, 2, 1);
INSERT INTO tasks(id, queue, flow, state, line, rank, priority, run, failures, node, created_at, due_at, started_at,
                  finished_at, kind, max_attempts, idempotency_key, tags, error, payload, result) VALUES
    (100, 1, 1, 0, 8, -5, 5, 0, 0, NULL, 1778846400000000, 1778846400000000, NULL, NULL, 'due', 7, 'key', '["red"]',
     NULL, '{"a":1}', NULL),
    (101, 1, 1, 0, 9, 1810382400000000, 0, 1, 1, 2, 1778846400000000, 1810382400000000, 1778846400000000, NULL,
     'later', NULL, NULL, NULL, 'it broke', '1', NULL),
    (102, 1, 2, 1, 26, 0, 0, 1, 0, 3, 1778846400000000, 1778846400000000, 1778846400000000, NULL, 'running', NULL,
     NULL, NULL, NULL, '2', NULL),
    (103, 1, 1, 2, 19, 1778846400000000, 0, 1, 0, 2, 1778846400000000, 1778846400000000, 1778846400000000,
     1778846400000000, 'completed', NULL, NULL, NULL, NULL, NULL, '"done"'),
    (104, 1, 1, 3, 27, 1778846400000000, 0, 2, 2, 2, 1778846400000000, 1778846400000000, 1778846400000000,
     1778846400000000, 'failed', 2, NULL, NULL, 'it broke again', '4', NULL),
    (105, 1, 1, 4, 35, 1778846400000000, 0, 0, 0, NULL, 1778846400000000, 1778846400000000, NULL, 1778846400000000,
     'cancelled', NULL, NULL, NULL, NULL, '5', NULL),
    (106, 2, 3, 0, 24, 0, 0, 0, 0, NULL, 1778846400000000, 1778846400000000, NULL, NULL, 'held', NULL, NULL, NULL,
     NULL, '6', NULL);
INSERT INTO payloads VALUES (103, '"a long one"');
INSERT INTO tags VALUES ('red', 100);
INSERT INTO attempts VALUES (104, 1, 0, 1778846400000000, 1778846400000000, 'it broke', 'died'),
                            (104, 2, 0, 1778846400000000, 1778846400000000, 'it broke again', 'died');
INSERT INTO schedules VALUES ('nightly', '0 3 * * *', 'Europe/Berlin', 0, 0,
    '{"kind":"echo","payload":"1","queue":"default","priority":0,"timeout_ms":0,"max_attempts":5,"backoff_ms":1000,"factor":2,"max_backoff_ms":600000,"jitter":0.2,"idempotency_key":"","tags":[],"flow_key":""}',
    1810382400000000, 1778846400000000, 100);
)sql";

}  // namespace store_test
