// SPDX-License-Identifier: MIT
// The tables of a crawl in PostgreSQL: those of the SQLite store, and what several nodes need.
#pragma once

#include <weir/db/pg/transaction.hpp>
#include <weir/task.hpp>

#include <string>
#include <string_view>

namespace weir::crawl::detail {

// SQL in which '@urls' stands for the table urls of the schema.
class pg_names {
public:
    // Throws invalid_argument for a name that is no plain identifier.
    explicit pg_names(std::string schema);

    std::string sql(std::string_view text) const;
    const std::string& schema() const noexcept { return schema_; }

private:
    std::string schema_;
};

// Makes the tables if there are none. Throws store_error for those of another program or version;
// also if there are none and `creates` is false.
task<> prepare_tables(pg::transaction& inside, const pg_names& names, bool creates);

}  // namespace weir::crawl::detail
