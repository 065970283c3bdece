// SPDX-License-Identifier: MIT
// One query both sets and reads the settings, and compares the process numbers: connecting costs
// one round trip more.

#include "db/pg/session/session_setup.hpp"

#include "db/pg/session/direct_connection.hpp"
#include "db/pg/values/server_error.hpp"

#include <weir/db/pg/error.hpp>

#include <charconv>
#include <string_view>
#include <utility>

namespace weir::pg::detail {

namespace {

constexpr int column_name = 0;
constexpr int column_value = 1;
constexpr int column_is_direct = 2;
constexpr int column_waits = 3;

std::string setup_query(int process) {
    const std::string is_direct = "pg_catalog.pg_backend_pid() = " + std::to_string(process);
    return "SELECT name, CASE WHEN " + is_direct +
           " THEN pg_catalog.set_config(name, value, false)"
           " ELSE pg_catalog.current_setting(name) END, " +
           is_direct +
           ", pg_catalog.current_setting('synchronous_standby_names') <> '' AND"
           " pg_catalog.current_setting('synchronous_commit') NOT IN ('off', 'local')"
           " FROM (VALUES ('DateStyle', 'ISO'), ('IntervalStyle', 'postgres'),"
           " ('extra_float_digits', '3'), ('bytea_output', 'hex'),"
           " ('standard_conforming_strings', 'on')) AS settings (name, value)";
}

// Why values written with this setting cannot be read exactly; empty: they can.
std::string_view trouble_with(std::string_view name, std::string_view value, int server_version) {
    if (name == "DateStyle" && !value.starts_with("ISO")) {
        return "dates cannot be read; set it to ISO";
    }
    if (name == "extra_float_digits") {
        constexpr int writes_shortest_exact = 12'00'00;
        const int least = server_version >= writes_shortest_exact ? 1 : 3;
        int digits = 0;
        std::from_chars(value.data(), value.data() + value.size(), digits);
        if (digits < least) {
            return "floating-point numbers are rounded; set it to 3";
        }
    }
    return {};
}

std::string_view text_at(const result_ptr& result, int row, int column) {
    return {PQgetvalue(result.get(), row, column),
            static_cast<std::size_t>(PQgetlength(result.get(), row, column))};
}

void check_settings(const result_ptr& settings, const PGconn* connection,
                    const std::string& server) {
    for (int row = 0; row < PQntuples(settings.get()); ++row) {
        const std::string_view name = text_at(settings, row, column_name);
        const std::string_view value = text_at(settings, row, column_value);
        const std::string_view trouble = trouble_with(name, value, PQserverVersion(connection));
        if (!trouble.empty()) {
            throw connection_error("pg: behind the pooler at " + server + ", " + std::string(name) +
                                       " is '" + std::string(value) + "', so that " +
                                       std::string(trouble) + " for the role or the database",
                                   db::retry_advice::no);
        }
    }
}

}  // namespace

task<opened_connection> set_up(connection_ptr opened, std::string server) {
    PQsetnonblocking(opened.get(), 1);
    direct_connection on(std::move(opened), server, db::retry_advice::yes);
    on.send(setup_query(PQbackendPID(on.get())));
    const result_ptr settings = co_await on.result();
    if (PQresultStatus(settings.get()) != PGRES_TUPLES_OK || PQntuples(settings.get()) == 0) {
        throw connection_failure(on.get(), "pg: " + server, db::retry_advice::yes);
    }
    const bool is_pooled = text_at(settings, 0, column_is_direct) != "t";
    if (is_pooled) {
        check_settings(settings, on.get(), server);
    }
    const result_ptr failure = co_await on.rest("pg: unexpected COPY");
    opened_connection done;
    done.connection = on.release();
    done.is_pooled = is_pooled;
    done.waits_for_standbys = text_at(settings, 0, column_waits) == "t";
    co_return std::move(done);
}

}  // namespace weir::pg::detail
