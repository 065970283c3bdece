// SPDX-License-Identifier: MIT
// The part of the description that is about moving the store: its paths and its schemas.

#include "service/api/openapi.hpp"

namespace weir::service::detail {

std::string_view openapi_move_paths() noexcept {
    return R"json({
"/move": {
  "get": {"operationId": "getMove", "summary": "How far the move of the store is",
    "tags": ["service"],
    "responses": {
      "200": {"description": "The last move of this process",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Move"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}},
  "post": {"operationId": "beginMove", "tags": ["service"],
    "summary": "Move the store to another database while the service runs",
    "description": "From a file to PostgreSQL, or back to a new file. Writes wait for a moment at the end.",
    "requestBody": {"required": true,
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/NewMove"}}}},
    "responses": {
      "202": {"description": "Begun",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Move"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}},
  "delete": {"operationId": "abortMove", "tags": ["service"],
    "summary": "Give up the move: the store stays where it is",
    "responses": {
      "202": {"description": "It ends soon",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Move"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}},
"/move/check": {
  "post": {"operationId": "checkMove", "tags": ["service"],
    "summary": "Say whether the store can be moved, and move nothing",
    "requestBody": {"required": true,
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/NewMove"}}}},
    "responses": {
      "200": {"description": "What there is to move",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/MoveCheck"}}}},
      "4XX": {"$ref": "#/components/responses/Problem"},
      "5XX": {"$ref": "#/components/responses/Problem"}}}}
})json";
}

std::string_view openapi_move_schemas() noexcept {
    return R"json({
  "NewMove": {"type": "object", "required": ["to"], "additionalProperties": false,
    "properties": {
      "to": {"type": "string", "minLength": 1,
        "description": "The URL of a PostgreSQL database, or the path of a new file of the service's machine"},
      "schema": {"type": "string", "minLength": 1, "default": "weir",
        "description": "Of the tables in PostgreSQL"}}},
  "Move": {"type": "object", "additionalProperties": false,
    "required": ["phase", "is_under_way", "database", "from", "to", "rows", "total",
      "held_seconds", "error"],
    "properties": {
      "phase": {"type": "string", "enum": ["none", "copying", "following", "comparing",
        "switching", "moved", "failed", "aborted"]},
      "is_under_way": {"type": "boolean"},
      "database": {"type": "string",
        "description": "That has the tasks now, without a password"},
      "from": {"type": ["string", "null"], "description": "Of the last move, as all that follow"},
      "to": {"type": ["string", "null"]},
      "rows": {"type": "integer", "description": "Copied and compared so far"},
      "total": {"type": "integer"},
      "held_seconds": {"type": "number", "description": "How long writes have waited"},
      "error": {"type": ["string", "null"], "description": "Why it waits or has failed"}}},
  "MoveCheck": {"type": "object", "required": ["rows", "counts"], "additionalProperties": false,
    "properties": {"rows": {"type": "integer", "description": "Of all tables"},
      "counts": {"type": "object", "description": "Tasks by state",
        "additionalProperties": {"type": "integer"}}}}
})json";
}

}  // namespace weir::service::detail
