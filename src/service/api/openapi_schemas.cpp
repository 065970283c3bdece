// SPDX-License-Identifier: MIT
// The components of the description: what is sent and answered, as JSON Schema.

#include "service/api/openapi.hpp"

namespace weir::service::detail {

std::string_view openapi_schemas() noexcept {
    return R"json({
"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
"parameters": {
  "Id": {"name": "id", "in": "path", "required": true, "schema": {"$ref": "#/components/schemas/Id"}},
  "Name": {"name": "name", "in": "path", "required": true, "schema": {"$ref": "#/components/schemas/Name"}},
  "IdempotencyKey": {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string", "maxLength": 200}},
  "Queue": {"name": "queue", "in": "query", "schema": {"$ref": "#/components/schemas/Name"}},
  "Kind": {"name": "kind", "in": "query", "schema": {"$ref": "#/components/schemas/Name"}},
  "Tag": {"name": "tag", "in": "query", "schema": {"$ref": "#/components/schemas/Name"}},
  "FlowKey": {"name": "flow_key", "in": "query", "schema": {"type": "string", "minLength": 1, "maxLength": 200}},
  "From": {"name": "from", "in": "query", "description": "Created then or later", "schema": {"$ref": "#/components/schemas/Time"}},
  "To": {"name": "to", "in": "query", "description": "Created before", "schema": {"$ref": "#/components/schemas/Time"}}},
"responses": {
  "Problem": {"description": "It could not be done: RFC 9457",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}}},
"schemas": {
  "Id": {"type": "string", "pattern": "^[0-7][0-9a-hjkmnp-tv-zA-HJKMNP-TV-Z]{12}$"},
  "Name": {"type": "string", "minLength": 1, "maxLength": 100},
  "Time": {"type": "string", "format": "date-time"},
  "TimeOrNull": {"type": ["string", "null"], "format": "date-time"},
  "State": {"type": "string", "enum": ["pending", "running", "completed", "failed", "cancelled"]},
  "Status": {"type": "string", "description": "The state, finer: scheduled and retrying are pending, cancelling is running",
    "enum": ["scheduled", "pending", "retrying", "running", "cancelling", "completed", "failed", "cancelled"]},
  "Problem": {"type": "object", "required": ["title", "status"], "properties": {
    "type": {"type": "string"}, "title": {"type": "string"}, "status": {"type": "integer"},
    "detail": {"type": "string"}, "instance": {"type": "string"},
    "member": {"type": "string", "description": "What was wrong"}}},
  "Backoff": {"type": "object", "additionalProperties": false, "description": "After the first failure initial, then factor times as long, max at most, in seconds; jitter of it, 0 to 1, is left to chance",
    "properties": {"initial": {"type": "number", "minimum": 0}, "factor": {"type": "number", "minimum": 1},
      "max": {"type": "number", "minimum": 0}, "jitter": {"type": "number", "minimum": 0, "maximum": 1}}},
  "NewBackoff": {"type": "object", "additionalProperties": false, "description": "As Backoff; what is left out or null is the service's own",
    "properties": {"initial": {"type": ["number", "null"], "minimum": 0, "maximum": 10000000}, "factor": {"type": ["number", "null"], "minimum": 1, "maximum": 100},
      "max": {"type": ["number", "null"], "minimum": 0, "maximum": 10000000}, "jitter": {"type": ["number", "null"], "minimum": 0, "maximum": 1}}},
  "NewTask": {"type": "object", "required": ["kind"], "additionalProperties": false, "properties": {
    "kind": {"$ref": "#/components/schemas/Name"},
    "payload": {"description": "Any JSON, for the handler"},
    "queue": {"type": ["string", "null"], "minLength": 1, "maxLength": 100, "default": "default"},
    "priority": {"type": ["integer", "null"], "minimum": -1000, "maximum": 1000, "default": 0, "description": "Higher first, among the tasks of one flow key"},
    "delay": {"type": ["number", "null"], "minimum": 0, "maximum": 316224000, "description": "Seconds from now"},
    "run_at": {"$ref": "#/components/schemas/TimeOrNull"},
    "max_attempts": {"type": ["integer", "null"], "minimum": 1, "maximum": 1000, "default": 5},
    "backoff": {"oneOf": [{"type": "null"}, {"type": "number", "minimum": 0, "maximum": 10000000}, {"$ref": "#/components/schemas/NewBackoff"}]},
    "timeout": {"type": ["number", "null"], "minimum": 0, "maximum": 10000000, "description": "Seconds of one run; 0 or null: the service's own"},
    "idempotency_key": {"type": ["string", "null"], "maxLength": 200},
    "tags": {"type": ["array", "null"], "maxItems": 20, "items": {"$ref": "#/components/schemas/Name"}},
    "flow_key": {"type": ["string", "null"], "maxLength": 200, "description": "Tasks of one key share its limits, and keys take turns"}}},
  "Submitted": {"type": "object", "required": ["id", "task_id", "duplicate"], "additionalProperties": false, "properties": {
    "id": {"$ref": "#/components/schemas/Id"},
    "task_id": {"$ref": "#/components/schemas/Id", "description": "The same as id"},
    "state": {"$ref": "#/components/schemas/State"}, "status": {"$ref": "#/components/schemas/Status"},
    "duplicate": {"type": "boolean", "description": "The idempotency key was known: this is the first task with it"}}},
  "BatchResult": {"type": "object", "required": ["results", "made", "duplicates", "refused"], "additionalProperties": false, "properties": {
    "results": {"type": "array", "items": {"oneOf": [
      {"$ref": "#/components/schemas/Submitted"},
      {"type": "object", "required": ["error"], "additionalProperties": false, "properties": {
        "error": {"type": "object", "required": ["status", "detail"], "additionalProperties": false,
          "properties": {"status": {"type": "integer"}, "detail": {"type": "string"}}}}}]}},
    "made": {"type": "integer"}, "duplicates": {"type": "integer"}, "refused": {"type": "integer"}}},
  "Attempt": {"type": "object", "required": ["run", "end", "started_at", "ended_at"], "additionalProperties": false, "properties": {
    "run": {"type": "integer"},
    "end": {"type": "string", "enum": ["failed", "timed_out", "crashed", "postponed", "cancelled"]},
    "started_at": {"$ref": "#/components/schemas/Time"}, "ended_at": {"$ref": "#/components/schemas/Time"},
    "error": {"type": ["string", "null"]}, "node": {"type": ["string", "null"]}}},
  "Task": {"type": "object", "additionalProperties": false,
    "required": ["id", "kind", "state", "status", "queue", "priority", "max_attempts", "backoff", "timeout", "tags", "flow_key", "idempotency_key", "run_at", "created_at", "due_at", "started_at", "finished_at", "run", "failures", "crashes", "node", "progress", "message", "error", "held_by"],
    "properties": {
      "id": {"$ref": "#/components/schemas/Id"}, "kind": {"type": "string"},
      "state": {"$ref": "#/components/schemas/State"}, "status": {"$ref": "#/components/schemas/Status"},
      "queue": {"type": "string"}, "priority": {"type": "integer"},
      "payload": {"description": "Not in lists"},
      "max_attempts": {"type": "integer"}, "backoff": {"$ref": "#/components/schemas/Backoff"},
      "timeout": {"type": ["number", "null"]}, "tags": {"type": "array", "items": {"type": "string"}},
      "flow_key": {"type": ["string", "null"]}, "idempotency_key": {"type": ["string", "null"]},
      "run_at": {"$ref": "#/components/schemas/TimeOrNull"},
      "created_at": {"$ref": "#/components/schemas/Time"},
      "due_at": {"$ref": "#/components/schemas/Time", "description": "When it may run, or run again"},
      "started_at": {"$ref": "#/components/schemas/TimeOrNull", "description": "Its last run"},
      "finished_at": {"$ref": "#/components/schemas/TimeOrNull"},
      "run": {"type": "integer", "description": "How often it was begun"},
      "failures": {"type": "integer", "description": "Attempts that count against max_attempts"},
      "crashes": {"type": "integer", "description": "Runs that ended with their process"},
      "node": {"type": ["string", "null"], "description": "That runs it, or ran it last"},
      "progress": {"type": "number", "minimum": 0, "maximum": 1}, "message": {"type": ["string", "null"]},
      "result": {"description": "Not in lists; null until it has completed"},
      "error": {"type": ["string", "null"], "description": "The last one"},
      "held_by": {"type": ["string", "null"], "description": "Why its handler put it off"},
      "attempts": {"type": "array", "description": "Not in lists; runs that did not complete it, the latest 20", "items": {"$ref": "#/components/schemas/Attempt"}}}},
  "TaskPage": {"type": "object", "required": ["tasks", "next"], "additionalProperties": false, "properties": {
    "tasks": {"type": "array", "items": {"$ref": "#/components/schemas/Task"}},
    "next": {"type": ["string", "null"], "description": "The next page; null: this is the last"}}},
  "Reasons": {"type": "object", "required": ["id", "state", "status", "reasons"], "additionalProperties": false, "properties": {
    "id": {"$ref": "#/components/schemas/Id"},
    "state": {"$ref": "#/components/schemas/State"}, "status": {"$ref": "#/components/schemas/Status"},
    "reasons": {"type": "array", "items": {"type": "object", "required": ["reason", "text", "until", "detail"], "additionalProperties": false, "properties": {
      "reason": {"type": "string", "enum": ["finished", "running", "not_due", "postponed", "paused", "queue_full", "queue_rate", "key_full", "key_rate", "no_handler", "workers_busy", "draining", "its_turn"]},
      "text": {"type": "string", "description": "The same for people"},
      "until": {"$ref": "#/components/schemas/TimeOrNull"}, "detail": {"type": ["string", "null"]}}}}}},
  "Changed": {"type": "object", "required": ["id"], "additionalProperties": false, "properties": {
    "id": {"$ref": "#/components/schemas/Id"},
    "cancel": {"type": "string", "enum": ["done", "requested"]}, "retry": {"type": "string", "enum": ["done", "requested"]}}},
  "Limits": {"type": "object", "additionalProperties": false, "description": "0: no limit",
    "required": ["max_pending", "max_running", "rate", "burst", "key_max_running", "key_rate", "key_burst"],
    "properties": {
      "max_pending": {"type": "integer"}, "max_running": {"type": "integer"}, "rate": {"type": "number"},
      "burst": {"type": "integer"}, "key_max_running": {"type": "integer"}, "key_rate": {"type": "number"},
      "key_burst": {"type": "integer"}}},
  "LimitsChange": {"type": "object", "additionalProperties": false, "description": "null: no limit", "properties": {
    "max_pending": {"type": ["integer", "null"], "minimum": 0, "description": "More are refused"},
    "max_running": {"type": ["integer", "null"], "minimum": 0},
    "rate": {"type": ["number", "null"], "minimum": 0, "description": "Begun a second"},
    "burst": {"type": ["integer", "null"], "minimum": 1, "description": "At once, with a rate"},
    "key_max_running": {"type": ["integer", "null"], "minimum": 0, "description": "Of each flow key"},
    "key_rate": {"type": ["number", "null"], "minimum": 0},
    "key_burst": {"type": ["integer", "null"], "minimum": 1}}},
  "Queue": {"type": "object", "required": ["name", "is_paused", "limits", "counts", "due"], "additionalProperties": false, "properties": {
    "name": {"type": "string"}, "is_paused": {"type": "boolean"},
    "limits": {"$ref": "#/components/schemas/Limits"},
    "counts": {"type": "object", "required": ["pending", "running", "completed", "failed", "cancelled"], "additionalProperties": false, "properties": {
      "pending": {"type": "integer"}, "running": {"type": "integer"}, "completed": {"type": "integer"}, "failed": {"type": "integer"}, "cancelled": {"type": "integer"}}},
    "due": {"type": "integer", "description": "Pending tasks that wait for nothing but their turn"}}},
  "Queues": {"type": "object", "required": ["queues"], "additionalProperties": false, "properties": {
    "queues": {"type": "array", "items": {"$ref": "#/components/schemas/Queue"}}}},
  "Redriven": {"type": "object", "required": ["queue", "redriven"], "additionalProperties": false, "properties": {
    "queue": {"type": "string"}, "redriven": {"type": "integer"}}},
  "NewSchedule": {"type": "object", "required": ["cron", "task"], "additionalProperties": false, "properties": {
    "name": {"type": ["string", "null"], "description": "The one in the path"},
    "cron": {"type": "string", "description": "'minute hour day month weekday', or @daily and the like"},
    "zone": {"type": ["string", "null"], "default": "UTC", "description": "Of the IANA database: Europe/Berlin"},
    "missed": {"type": "string", "enum": ["run_latest", "skip"], "default": "run_latest", "description": "What becomes of slots that passed while nothing ran"},
    "is_paused": {"type": ["boolean", "null"], "default": false},
    "task": {"$ref": "#/components/schemas/NewTask", "description": "Without run_at, delay and idempotency_key"}}},
  "Schedule": {"type": "object", "additionalProperties": false,
    "required": ["name", "cron", "zone", "missed", "is_paused", "task", "next_slot", "last_slot", "last_task"],
    "properties": {
      "name": {"type": "string"}, "cron": {"type": "string"}, "zone": {"type": "string"},
      "missed": {"type": "string", "enum": ["run_latest", "skip"]}, "is_paused": {"type": "boolean"},
      "task": {"$ref": "#/components/schemas/NewTask"},
      "next_slot": {"$ref": "#/components/schemas/Time"}, "last_slot": {"$ref": "#/components/schemas/TimeOrNull"},
      "last_task": {"type": ["string", "null"]}}},
  "Schedules": {"type": "object", "required": ["schedules"], "additionalProperties": false, "properties": {
    "schedules": {"type": "array", "items": {"$ref": "#/components/schemas/Schedule"}}}},
  "Kinds": {"type": "object", "required": ["kinds"], "additionalProperties": false, "properties": {
    "kinds": {"type": "array", "items": {"type": "string"}}}},
  "Stats": {"type": "object", "additionalProperties": false,
    "required": ["at", "submitted", "started", "completed", "failed", "dead", "cancelled", "rescued", "fenced", "running", "is_draining", "store_is_well", "hosts", "feed", "queues"],
    "properties": {
      "at": {"$ref": "#/components/schemas/Time"},
      "submitted": {"type": "integer"}, "started": {"type": "integer"}, "completed": {"type": "integer"},
      "failed": {"type": "integer", "description": "Attempts"},
      "dead": {"type": "integer", "description": "Tasks that will not be tried again"},
      "cancelled": {"type": "integer"}, "rescued": {"type": "integer"},
      "fenced": {"type": "integer", "description": "Results that came too late"},
      "running": {"type": "integer"}, "is_draining": {"type": "boolean"}, "store_is_well": {"type": "boolean"},
      "hosts": {"type": "array", "description": "That tasks talk to", "items": {"type": "object", "required": ["host", "circuit", "retry_after", "in_flight", "waiting"], "additionalProperties": false, "properties": {
        "host": {"type": "string"}, "circuit": {"type": "string", "enum": ["closed", "open", "half_open"]},
        "retry_after": {"type": "number"}, "in_flight": {"type": "integer"}, "waiting": {"type": "integer"}}}},
      "feed": {"type": "object", "additionalProperties": {"type": "integer"}},
      "queues": {"type": "array", "items": {"$ref": "#/components/schemas/Queue"}}}},
  "StatsHistory": {"type": "object", "additionalProperties": false,
    "required": ["interval", "at", "submitted", "started", "completed", "failed", "wait_p50", "wait_p99", "run_p50"],
    "properties": {
      "interval": {"type": "integer", "description": "Seconds between samples; seconds without any change are left out"},
      "at": {"type": "array", "items": {"$ref": "#/components/schemas/Time"}},
      "submitted": {"type": "array", "items": {"type": "number"}, "description": "A second"},
      "started": {"type": "array", "items": {"type": "number"}},
      "completed": {"type": "array", "items": {"type": "number"}},
      "failed": {"type": "array", "items": {"type": "number"}, "description": "Attempts"},
      "wait_p50": {"type": "array", "items": {"type": ["number", "null"]}, "description": "Seconds from due to begun; null where none began"},
      "wait_p99": {"type": "array", "items": {"type": ["number", "null"]}},
      "run_p50": {"type": "array", "items": {"type": ["number", "null"]}, "description": "Seconds from begun to ended; null where none ended"}}},
  "Alive": {"type": "object", "required": ["status"], "additionalProperties": false, "properties": {"status": {"type": "string", "enum": ["alive"]}}},
  "Ready": {"type": "object", "required": ["ready", "reason"], "additionalProperties": false, "properties": {
    "ready": {"type": "boolean"}, "reason": {"type": ["string", "null"]}}}
}})json";
}

}  // namespace weir::service::detail
