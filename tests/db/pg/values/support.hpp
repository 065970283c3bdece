// SPDX-License-Identifier: MIT
// Queries over a plain connection of libpq, so that mapping is tested without what sends queries.
#pragma once

#include <support/peers/postgres.hpp>

#include <weir/db/pg/parameter.hpp>
#include <weir/db/pg/rows.hpp>

#include <gtest/gtest.h>

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace pg_test {

// What libpq's result says when a query has failed.
struct failed_query : std::runtime_error {
    failed_query(const std::string& what, std::string state)
        : std::runtime_error(what), sqlstate(std::move(state)) {}
    std::string sqlstate;
};

class plain_connection {
public:
    plain_connection() : connection_(PQconnectdb(weir_test::shared_postgres().url().c_str())) {
        if (PQstatus(connection_) != CONNECTION_OK) {
            throw std::runtime_error(PQerrorMessage(connection_));
        }
    }
    plain_connection(const plain_connection&) = delete;
    plain_connection& operator=(const plain_connection&) = delete;
    ~plain_connection() { PQfinish(connection_); }

    template <class... Arguments>
    weir::pg::rows query(const std::string& sql, Arguments&&... arguments) {
        const auto all = weir::pg::detail::to_parameters(std::forward<Arguments>(arguments)...);
        std::vector<const char*> values;
        std::vector<int> lengths;
        std::vector<int> formats;
        for (const weir::pg::parameter& each : all) {
            const auto* const bytes = each.bytes();
            const auto* const text = each.text();
            values.push_back(bytes != nullptr  ? reinterpret_cast<const char*>(bytes->data())
                             : text != nullptr ? text->c_str()
                                               : nullptr);
            if (bytes != nullptr && bytes->empty()) {
                values.back() = "";
            }
            lengths.push_back(bytes != nullptr ? static_cast<int>(bytes->size()) : 0);
            formats.push_back(bytes != nullptr ? 1 : 0);
        }
        std::shared_ptr<PGresult> result(
            PQexecParams(connection_, sql.c_str(), static_cast<int>(all.size()), nullptr,
                         values.data(), lengths.data(), formats.data(), 0),
            &PQclear);
        const auto status = PQresultStatus(result.get());
        if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
            const char* const state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
            throw failed_query(PQresultErrorMessage(result.get()), state != nullptr ? state : "");
        }
        return weir::pg::rows(std::shared_ptr<const PGresult>(std::move(result)));
    }

private:
    PGconn* connection_;
};

struct user {
    std::int64_t id;
    std::string name;
    std::optional<double> score;
};

// The message of the mapping_error that the body throws.
template <class Body>
std::string refusal_of(Body body) {
    try {
        body();
    } catch (const weir::db::mapping_error& refused) {
        EXPECT_EQ(refused.advice(), weir::db::retry_advice::no);
        return refused.what();
    }
    return "nothing was refused";
}

}  // namespace pg_test
