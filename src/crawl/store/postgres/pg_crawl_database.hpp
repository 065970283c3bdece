// SPDX-License-Identifier: MIT
// The database of a crawl: transactions that are tried again while the server is away, with errors
// that name the state.
#pragma once

#include "crawl/store/postgres/pg_rows.hpp"
#include "crawl/store/postgres/pg_tables.hpp"

#include <weir/clock.hpp>
#include <weir/crawl/postgres_store.hpp>
#include <weir/db/pg/database.hpp>
#include <weir/task.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::crawl::detail {

class pg_crawl_database {
public:
    explicit pg_crawl_database(const postgres_store_options& options);

    const pg_names& names() const noexcept { return names_; }
    // Runs the body in a transaction until it is committed, or there is no hope, or patience has
    // run out. It may run again though it was committed: a server may die before it answers.
    task<> write(std::function<task<>(pg::transaction&)> body);
    // The same, once: the first use of a server should not take long to fail.
    task<> write_once(std::function<task<>(pg::transaction&)> body);
    task<pg::rows> read(std::string_view sql, std::vector<pg::parameter> parameters = {});
    task<> close();

    // Statements of a transaction that go to the server together; what each of them found.
    task<std::vector<pg::rows>> run_all(pg::transaction& inside,
                                        std::vector<pg_statement> statements) const;
    // Locks what every transaction that writes locks first.
    task<> lock(pg::transaction& inside) const;

private:
    // What is wrong, if trying again is no use or `until` has come; else waits a bit.
    task<> wait_after(std::exception_ptr failure, clock::time_point until, unsigned attempt) const;

    pg_names names_;
    clock::duration patience_;
    pg::database database_;
};

}  // namespace weir::crawl::detail
