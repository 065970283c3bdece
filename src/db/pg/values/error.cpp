// SPDX-License-Identifier: MIT
// Errors of the server, from its fields. Messages of class 22 (invalid data) quote the invalid
// value, which may be secret: what() has "..." in its place.

#include "db/pg/values/server_error.hpp"

#include <weir/db/pg/error.hpp>

#include <libpq-fe.h>

#include <string>
#include <string_view>
#include <utility>

namespace weir::pg {

namespace {

// 08P01 is also a wrong number of parameters, but not when it ends the connection: a pooler says
// so of a server connection that it has lost.
bool is_of_connection(const error_fields& fields) noexcept {
    return fields.sqlstate.starts_with("08") &&
           (fields.sqlstate != "08P01" || fields.severity == "FATAL");
}

db::retry_advice advice_for(const error_fields& fields) noexcept {
    using enum db::retry_advice;
    const std::string_view state = fields.sqlstate;
    if (state == "40001" || state == "40P01" || state == "55P03" || state.starts_with("53") ||
        state.starts_with("57P0")) {
        return yes;
    }
    if (is_of_connection(fields) || state == "40003") {
        return if_harmless;
    }
    return no;
}

std::string without_values(const error_fields& fields) {
    if (!fields.sqlstate.starts_with("22")) {
        return fields.message;
    }
    // From the first quote to the last: a value may hold quotes itself.
    const std::size_t from = fields.message.find('"');
    const std::size_t to = fields.message.rfind('"');
    if (from == std::string::npos || to == from) {
        return fields.message;
    }
    return fields.message.substr(0, from) + "\"...\"" + fields.message.substr(to + 1);
}

// The query as one line, cut if it is long.
std::string beginning_of(std::string_view query) {
    constexpr std::size_t longest = 120;
    std::string shortened;
    bool space = false;
    for (const char each : query) {
        if (each == ' ' || each == '\n' || each == '\t' || each == '\r') {
            space = !shortened.empty();
            continue;
        }
        const bool within_character = (static_cast<unsigned char>(each) & 0xC0U) == 0x80U;
        if (shortened.size() >= longest && !within_character) {
            return shortened + " ...";
        }
        if (std::exchange(space, false)) {
            shortened += ' ';
        }
        shortened += each;
    }
    return shortened;
}

std::string message_for(const error_fields& fields, std::string_view query) {
    std::string message = without_values(fields);
    if (!fields.sqlstate.empty()) {
        message += " (SQLSTATE " + fields.sqlstate + ")";
    }
    if (!query.empty()) {
        message += " in: " + beginning_of(query);
    }
    return message;
}

}  // namespace

error::error(error_fields fields, std::string_view query)
    : db::error(message_for(fields, query), advice_for(fields)),
      fields_(std::make_shared<const error_fields>(std::move(fields))) {}

error::error(const std::string& what, db::retry_advice advice)
    : db::error(what, advice),
      fields_(std::make_shared<const error_fields>(error_fields{.message = what})) {}

namespace detail {

namespace {

std::string trimmed(const char* text) {
    std::string_view all = text != nullptr ? std::string_view(text) : std::string_view();
    while (!all.empty() && (all.back() == '\n' || all.back() == ' ')) {
        all.remove_suffix(1);
    }
    return std::string(all);
}

}  // namespace

error_fields fields_of(const pg_result* result) {
    const auto field = [&](int code) { return trimmed(PQresultErrorField(result, code)); };
    error_fields fields;
    fields.sqlstate = field(PG_DIAG_SQLSTATE);
    fields.severity = field(PG_DIAG_SEVERITY_NONLOCALIZED);
    if (fields.severity.empty()) {  // poolers do not send it
        fields.severity = field(PG_DIAG_SEVERITY);
    }
    fields.message = field(PG_DIAG_MESSAGE_PRIMARY);
    fields.detail = field(PG_DIAG_MESSAGE_DETAIL);
    fields.hint = field(PG_DIAG_MESSAGE_HINT);
    fields.schema = field(PG_DIAG_SCHEMA_NAME);
    fields.table = field(PG_DIAG_TABLE_NAME);
    fields.column = field(PG_DIAG_COLUMN_NAME);
    fields.constraint = field(PG_DIAG_CONSTRAINT_NAME);
    if (fields.message.empty()) {
        fields.message = trimmed(PQresultErrorMessage(result));
    }
    return fields;
}

std::exception_ptr error_of(const pg_result* result, std::string_view query) {
    error_fields fields = fields_of(result);
    const std::string_view state = fields.sqlstate;
    if (state.empty()) {  // libpq's own
        return std::make_exception_ptr(
            connection_error(fields.message, db::retry_advice::if_harmless));
    }
    if (state.starts_with("57P0") || is_of_connection(fields)) {
        return std::make_exception_ptr(connection_error(std::move(fields), query));
    }
    return std::make_exception_ptr(error(std::move(fields), query));
}

connection_error connection_failure(const pg_conn* connection, std::string_view what,
                                    db::retry_advice advice) {
    const std::string reason = trimmed(PQerrorMessage(connection));
    std::string message(what);
    if (!reason.empty()) {
        message += (message.empty() ? "" : ": ") + reason;
    }
    return connection_error(message, advice);
}

}  // namespace detail

}  // namespace weir::pg
