// SPDX-License-Identifier: MIT
// The paths of the description. api.cpp compares them with the routes; the tests validate every
// response against the schemas.

#include "service/api/openapi.hpp"

#include "base/raw_json.hpp"
#include "service/api/json/json_writer.hpp"

namespace weir::service::detail {

std::string_view openapi_paths() noexcept {
    return R"json({
"/tasks": {
  "post": {"operationId": "submitTask", "summary": "Submit a task", "tags": ["tasks"],
    "description": "The response means that the task is stored. A known idempotency key gives 200 and the first id.",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"},
      {"$ref": "#/components/parameters/Traceparent"},
      {"$ref": "#/components/parameters/Tracestate"}],
    "requestBody": {"required": true,
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/NewTask"}}}},
    "responses": {
      "200": {"description": "The task exists already",
        "headers": {"Location": {"schema": {"type": "string"}}},
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Submitted"}}}},
      "202": {"description": "Accepted", "headers": {"Location": {"schema": {"type": "string"}}},
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Submitted"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}},
  "get": {"operationId": "listTasks", "summary": "List tasks, the newest first",
    "tags": ["tasks"],
    "parameters": [
      {"name": "state", "in": "query", "schema": {"$ref": "#/components/schemas/State"}},
      {"name": "status", "in": "query", "schema": {"$ref": "#/components/schemas/Status"}},
      {"$ref": "#/components/parameters/Queue"}, {"$ref": "#/components/parameters/Kind"},
      {"$ref": "#/components/parameters/Tag"}, {"$ref": "#/components/parameters/FlowKey"},
      {"$ref": "#/components/parameters/From"}, {"$ref": "#/components/parameters/To"},
      {"name": "cursor", "in": "query", "description": "From 'next' of the page before",
        "schema": {"type": "string"}},
      {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "default": 50}}],
    "responses": {
      "200": {"description": "A page of tasks, without payloads and results",
        "headers": {
          "Link": {"description": "The next page, rel=\"next\"", "schema": {"type": "string"}},
          "X-Weir-Lag": {"description": "Seconds that the page may be behind, where it was read from a standby; never with the request header 'Cache-Control: no-cache'", "schema": {"type": "string"}}},
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/TaskPage"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/tasks/batch": {
  "post": {"operationId": "submitTasks", "summary": "Submit several tasks", "tags": ["tasks"],
    "description": "One result per task, in order. With Idempotency-Key, task i without a key has '<key>/<i>'. If a task has a name or comes after others, or with 'group', all tasks are created or none.",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"},
      {"$ref": "#/components/parameters/Traceparent"},
      {"$ref": "#/components/parameters/Tracestate"}],
    "requestBody": {"required": true,
      "content": {
        "application/json": {
          "schema": {
            "oneOf": [{"type": "array", "items": {"$ref": "#/components/schemas/NewTask"}},
              {"type": "object", "required": ["tasks"], "additionalProperties": false,
                "properties": {
                  "group": {"$ref": "#/components/schemas/NewGroup"},
                  "tasks": {"type": "array", "items": {"$ref": "#/components/schemas/NewTask"}}}}]}}}},
    "responses": {
      "200": {"description": "One result per task",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/BatchResult"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/tasks/{id}": {"parameters": [{"$ref": "#/components/parameters/Id"}],
  "get": {"operationId": "getTask", "summary": "One task, with its attempts", "tags": ["tasks"],
    "parameters": [{"name": "wait", "in": "query",
      "description": "Seconds to wait for the end of the task; after them the response has its current state",
      "schema": {"type": "number", "minimum": 0, "maximum": 60, "default": 0}}],
    "responses": {
      "200": {"description": "The task",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Task"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}},
  "patch": {"operationId": "editTask", "summary": "Change a pending task", "tags": ["tasks"],
    "description": "A task that is not pending is a 409.",
    "requestBody": {"required": true,
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/TaskEdit"}}}},
    "responses": {
      "200": {"description": "The task",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Task"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}},
  "delete": {"operationId": "deleteTask", "summary": "Remove a task that has ended",
    "tags": ["tasks"], "description": "A task that has not ended is a 409: cancel it first.",
    "responses": {
      "200": {"description": "Removed, with its attempts",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Changed"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/tasks/{id}/why": {"parameters": [{"$ref": "#/components/parameters/Id"}],
  "get": {"operationId": "whyTask", "summary": "Why a task does not run now", "tags": ["tasks"],
    "responses": {
      "200": {"description": "Reasons",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Reasons"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/tasks/{id}/cancel": {"parameters": [{"$ref": "#/components/parameters/Id"}],
  "post": {"operationId": "cancelTask", "summary": "Cancel a task", "tags": ["tasks"],
    "parameters": [{"name": "subtree", "in": "query",
      "description": "Also the tasks that come after it, and those after them, whatever their policies are",
      "schema": {"type": "boolean", "default": false}}],
    "responses": {
      "200": {"description": "Cancelled",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Changed"}}}},
      "202": {"description": "It is running and was asked to stop",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Changed"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/tasks/{id}/retry": {"parameters": [{"$ref": "#/components/parameters/Id"}],
  "post": {"operationId": "retryTask", "summary": "Run a task again, or now", "tags": ["tasks"],
    "description": "What failed or was cancelled begins again with all its attempts; what waits for later runs now.",
    "parameters": [{"name": "steps", "in": "query",
      "description": "Whether the task gets the steps that its former runs have kept",
      "schema": {"type": "string", "enum": ["keep", "forget"], "default": "keep"}}],
    "responses": {
      "200": {"description": "It will run",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Changed"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/operations": {
  "post": {"operationId": "startOperation", "tags": ["operations"],
    "summary": "Cancel, retry or delete all tasks that match",
    "description": "The service changes them step by step; see getOperation for how far it is.",
    "requestBody": {"required": true,
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/NewOperation"}}}},
    "responses": {
      "202": {"description": "Started", "headers": {"Location": {"schema": {"type": "string"}}},
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Operation"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}},
  "get": {"operationId": "listOperations", "tags": ["operations"],
    "summary": "Operations of this process that run or have ended, the newest first",
    "responses": {
      "200": {"description": "Operations",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Operations"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/operations/{id}": {"parameters": [{"$ref": "#/components/parameters/Id"}],
  "get": {"operationId": "getOperation", "summary": "One operation", "tags": ["operations"],
    "responses": {
      "200": {"description": "The operation",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Operation"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}},
  "delete": {"operationId": "stopOperation", "tags": ["operations"],
    "summary": "Stop an operation; what it has changed stays changed",
    "responses": {
      "200": {"description": "The operation, which has ended",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Operation"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/queues": {
  "get": {"operationId": "listQueues", "summary": "Queues with their counts, by name",
    "tags": ["queues"],
    "parameters": [{"$ref": "#/components/parameters/PageSize"},
      {"$ref": "#/components/parameters/After"}],
    "responses": {
      "200": {"description": "Queues",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Queues"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/queues/{name}": {"parameters": [{"$ref": "#/components/parameters/Name"}],
  "get": {"operationId": "getQueue", "summary": "One queue", "tags": ["queues"],
    "responses": {
      "200": {"description": "The queue",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Queue"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}},
  "delete": {"operationId": "deleteQueue",
    "summary": "Remove a queue with its limits and ended tasks", "tags": ["queues"],
    "parameters": [{"name": "force", "in": "query",
      "description": "Remove its pending tasks, too; without it a queue with such tasks is a 409",
      "schema": {"type": "boolean"}}],
    "responses": {
      "200": {"description": "Removed",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Removed"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}},
  "patch": {"operationId": "limitQueue", "summary": "Change limits; those not named stay",
    "tags": ["queues"],
    "requestBody": {"required": true,
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/LimitsChange"}}}},
    "responses": {
      "200": {"description": "The queue",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Queue"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/queues/{name}/pause": {"parameters": [{"$ref": "#/components/parameters/Name"}],
  "post": {"operationId": "pauseQueue", "summary": "Start no more tasks of a queue",
    "tags": ["queues"],
    "responses": {
      "200": {"description": "The queue",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Queue"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/queues/{name}/resume": {"parameters": [{"$ref": "#/components/parameters/Name"}],
  "post": {"operationId": "resumeQueue", "summary": "Start tasks of a queue again",
    "tags": ["queues"],
    "responses": {
      "200": {"description": "The queue",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Queue"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/queues/{name}/redrive": {"parameters": [{"$ref": "#/components/parameters/Name"}],
  "post": {"operationId": "redriveQueue", "summary": "Run a queue's failed tasks again",
    "tags": ["queues"],
    "parameters": [{"$ref": "#/components/parameters/Kind"},
      {"$ref": "#/components/parameters/Tag"}, {"$ref": "#/components/parameters/FlowKey"},
      {"$ref": "#/components/parameters/From"}, {"$ref": "#/components/parameters/To"},
      {"name": "limit", "in": "query",
        "schema": {"type": "integer", "minimum": 1, "maximum": 1000000}}],
    "responses": {
      "200": {"description": "How many",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Redriven"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/queues/{name}/keys": {"parameters": [{"$ref": "#/components/parameters/Name"}],
  "get": {"operationId": "listKeys", "summary": "The flow keys of a queue, by name",
    "tags": ["queues"],
    "parameters": [
      {"name": "limit", "in": "query",
        "schema": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}},
      {"name": "cursor", "in": "query", "description": "The key after which the page begins",
        "schema": {"$ref": "#/components/schemas/KeyName"}},
      {"name": "set", "in": "query", "description": "Only keys with settings of their own",
        "schema": {"type": "boolean", "default": false}}],
    "responses": {
      "200": {"description": "Keys that have tasks or settings",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Keys"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/queues/{name}/keys/{key}": {"parameters": [{"$ref": "#/components/parameters/Name"},
    {"name": "key", "in": "path", "required": true,
      "schema": {"$ref": "#/components/schemas/KeyName"}}],
  "get": {"operationId": "getKey", "summary": "One flow key of a queue", "tags": ["queues"],
    "responses": {
      "200": {"description": "The key",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Key"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}},
  "put": {"operationId": "setKey", "tags": ["queues"],
    "summary": "Pause one flow key, or give it limits of its own; those not named stay",
    "requestBody": {"required": true,
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/KeyChange"}}}},
    "responses": {
      "200": {"description": "The key",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Key"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}},
  "delete": {"operationId": "resetKey", "tags": ["queues"],
    "summary": "Remove the settings of a flow key: the queue's apply again",
    "responses": {
      "200": {"description": "The key",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Key"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/destinations": {
  "get": {"operationId": "listDestinations", "tags": ["destinations"],
    "summary": "What tasks talk to, those that hold tasks back first, and disabled endpoints",
    "parameters": [{"name": "limit", "in": "query",
      "schema": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}}],
    "responses": {
      "200": {"description": "Destinations",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Destinations"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/destinations/enable": {
  "post": {"operationId": "enableEndpoint", "tags": ["destinations"],
    "summary": "Use an endpoint again that has answered that it is gone",
    "requestBody": {"required": true,
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Endpoint"}}}},
    "responses": {
      "200": {"description": "Enabled",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Enabled"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/schedules": {
  "get": {"operationId": "listSchedules", "summary": "Schedules, by name", "tags": ["schedules"],
    "parameters": [{"$ref": "#/components/parameters/PageSize"},
      {"$ref": "#/components/parameters/After"}],
    "responses": {
      "200": {"description": "Schedules",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Schedules"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/schedules/{name}": {"parameters": [{"$ref": "#/components/parameters/Name"}],
  "get": {"operationId": "getSchedule", "summary": "One schedule", "tags": ["schedules"],
    "responses": {
      "200": {"description": "The schedule",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Schedule"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}},
  "put": {"operationId": "putSchedule", "summary": "Make or replace a schedule",
    "tags": ["schedules"],
    "requestBody": {"required": true,
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/NewSchedule"}}}},
    "responses": {
      "200": {"description": "The schedule",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Schedule"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}},
  "delete": {"operationId": "deleteSchedule", "summary": "Remove a schedule; its tasks stay",
    "tags": ["schedules"],
    "responses": {"204": {"description": "Removed"},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/schedules/{name}/run": {"parameters": [{"$ref": "#/components/parameters/Name"}],
  "post": {"operationId": "runSchedule", "summary": "Submit its task now; its slots stay",
    "tags": ["schedules"],
    "description": "Also while it is paused. 409 if its overlap is skip and its last task has not ended.",
    "responses": {
      "200": {"description": "A task that holds its unique key exists already",
        "headers": {"Location": {"schema": {"type": "string"}}},
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Submitted"}}}},
      "202": {"description": "Accepted", "headers": {"Location": {"schema": {"type": "string"}}},
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Submitted"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/schedules/{name}/pause": {"parameters": [{"$ref": "#/components/parameters/Name"}],
  "post": {"operationId": "pauseSchedule", "summary": "Skip its slots until it is resumed",
    "tags": ["schedules"],
    "responses": {
      "200": {"description": "The schedule",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Schedule"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/schedules/{name}/resume": {"parameters": [{"$ref": "#/components/parameters/Name"}],
  "post": {"operationId": "resumeSchedule", "summary": "Continue with its next slot",
    "tags": ["schedules"],
    "responses": {
      "200": {"description": "The schedule",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Schedule"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/nodes": {
  "get": {"operationId": "listNodes", "summary": "Processes that run tasks of the store",
    "tags": ["service"],
    "description": "At most 100: those with a lease first, then the newest. GET /tasks?state=running has what each runs.",
    "responses": {
      "200": {"description": "Nodes",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Nodes"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/kinds": {
  "get": {"operationId": "listKinds", "summary": "Kinds of tasks that there are handlers for",
    "tags": ["service"],
    "responses": {
      "200": {"description": "Kinds",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Kinds"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/stats": {
  "get": {"operationId": "getStats",
    "summary": "Numbers since the start of the process, and the queues", "tags": ["service"],
    "responses": {
      "200": {"description": "Numbers",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Stats"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/stats/history": {
  "get": {"operationId": "getStatsHistory",
    "summary": "Tasks a second and latencies of the last five minutes", "tags": ["service"],
    "responses": {
      "200": {"description": "One list for each number, oldest first",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/StatsHistory"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/events": {
  "get": {"operationId": "watchEvents", "summary": "The live feed, as WebSocket",
    "tags": ["service"],
    "description": "Topics: all, stats, queues, queue:<name>, task:<id>. Messages of the client: {\"subscribe\": topic or list, \"since\": position} and {\"unsubscribe\": topic or list}. Messages of the server have type (subscribed, tasks, stats, queues, unsubscribed, error), topic, seq and position. A browser offers the protocols 'weir.events' and 'weir.token.<base64url of the token>'.",
    "parameters": [
      {"name": "topic", "in": "query",
        "description": "To begin with; may be there several times",
        "schema": {"type": "array", "items": {"type": "string"}}},
      {"name": "since", "in": "query",
        "description": "The position of the last message seen; with one topic",
        "schema": {"type": "string"}}],
    "responses": {"101": {"description": "Switching to WebSocket"},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/metrics": {
  "get": {"operationId": "getMetrics", "summary": "Metrics for Prometheus", "tags": ["service"],
    "responses": {
      "200": {"description": "Metrics, text format 0.0.4",
        "content": {"text/plain": {"schema": {"type": "string"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/healthz": {
  "get": {"operationId": "isAlive", "summary": "Does the process answer?", "tags": ["service"],
    "responses": {
      "200": {"description": "It does",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Alive"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/readyz": {
  "get": {"operationId": "isReady", "summary": "Can it take tasks?", "tags": ["service"],
    "responses": {
      "200": {"description": "It can",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Ready"}}}},
      "503": {"description": "No task can be stored or claimed, or the service is shutting down",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Ready"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/openapi.json": {
  "get": {"operationId": "getDescription", "summary": "This document", "tags": ["service"],
    "responses": {
      "200": {"description": "OpenAPI 3.1",
        "content": {"application/json": {"schema": {"type": "object"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}}})json";
}

namespace {

// One object with the members of two.
std::string joined(std::string first, std::string_view second) {
    first.back() = ',';
    return first += second.substr(1);
}

}  // namespace

std::shared_ptr<const std::string> openapi_document(std::string_view version) {
    std::string text;
    json_writer json(text);
    json.begin_object();
    json.member("openapi", "3.1.0");
    json.key("info").begin_object();
    json.member("title", "Weir task service").member("version", version);
    json.member(
        "description",
        "Durable background tasks with retries, limits and schedules. Times are RFC 3339 in "
        "UTC, durations are seconds.");
    json.key("license")
        .begin_object()
        .member("name", "MIT")
        .member("identifier", "MIT")
        .end_object();
    json.end_object();
    json.key("servers").raw(R"([{"url":"/"}])");
    // A token if one is configured; otherwise none, on loopback only.
    json.key("security").raw(R"([{"token":[]},{}])");
    json.key("tags").raw(
        R"([{"name":"tasks","description":"Submitting, watching and changing tasks"},)"
        R"({"name":"groups","description":"Tasks that belong together, with a callback"},)"
        R"({"name":"operations","description":"Changes of all tasks that match a filter"},)"
        R"({"name":"queues","description":"Limits, pauses and counts"},)"
        R"({"name":"destinations","description":"What tasks talk to"},)"
        R"({"name":"schedules","description":"Tasks created by the clock"},)"
        R"({"name":"workers","description":"Programs that take tasks over HTTP"},)"
        R"({"name":"service","description":"The service itself"}])");
    json.key("paths").raw(joined(
        joined(base::compact_json(openapi_paths()), base::compact_json(openapi_worker_paths())),
        joined(base::compact_json(openapi_group_paths()),
               base::compact_json(openapi_move_paths()))));
    // The schemas are the last member of the components.
    const std::string components = base::compact_json(openapi_schemas());
    json.key("components")
        .raw(joined(components.substr(0, components.size() - 1),
                    joined(base::compact_json(openapi_worker_schemas()),
                           joined(base::compact_json(openapi_group_schemas()),
                                  base::compact_json(openapi_move_schemas())))) +
             "}");
    json.end_object();
    return std::make_shared<const std::string>(std::move(text));
}

}  // namespace weir::service::detail
