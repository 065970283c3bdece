// SPDX-License-Identifier: MIT
// Transactions say what they need, whatever the defaults of the server are. No lock is waited for
// longer than a few seconds at a time: the wait counts as the server being away.

#include "crawl/store/postgres/pg_crawl_database.hpp"

#include <weir/crawl/shared_crawl.hpp>
#include <weir/error.hpp>
#include <weir/gather.hpp>
#include <weir/refusal.hpp>
#include <weir/time.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace weir::crawl::detail {

namespace {

pg::connect_options crawl_server(const postgres_store_options& options) {
    pg::connect_options server;
    server.url = options.url;
    server.application_name = "weir crawl";
    server.connect_timeout = std::chrono::seconds(5);
    return server;
}

pg::database_options crawl_pool() {
    pg::database_options options;
    options.pool.name = "crawl";
    options.pool.max = 4;  // commits, polls, refills
    options.pool.max_wait = std::chrono::seconds(10);
    return options;
}

pg::transaction_options crawl_isolation() noexcept {
    pg::transaction_options options;
    options.isolation = pg::isolation::read_committed;
    return options;
}

task<pg::rows> run_statement(pg::transaction& inside, std::string sql,
                             std::vector<pg::parameter> parameters) {
    pg::rows found = co_await inside.query(std::move(sql), std::move(parameters));
    co_return found;
}

}  // namespace

pg_crawl_database::pg_crawl_database(const postgres_store_options& options)
    : names_(options.schema),
      patience_(options.patience),
      database_(crawl_server(options), crawl_pool()) {}

task<> pg_crawl_database::wait_after(std::exception_ptr failure, clock::time_point until,
                                     unsigned attempt) const {
    const std::string where = "the state in PostgreSQL (schema '" + names_.schema() + "'): ";
    bool is_worth_trying = false;
    std::string reason;
    try {
        std::rethrow_exception(failure);
    } catch (const pg::error& error) {
        is_worth_trying = error.advice() != db::retry_advice::no;
        reason = error.what();
    } catch (const refused& error) {  // all connections are busy, or cannot be made
        is_worth_trying = true;
        reason = error.what();
    }
    if (!is_worth_trying || now() >= until) {
        throw store_error(where + reason);
    }
    co_await sleep(std::min<clock::duration>(std::chrono::milliseconds(20) * (1U << attempt),
                                             std::chrono::seconds(1)));
}

task<> pg_crawl_database::write(std::function<task<>(pg::transaction&)> body) {
    const clock::time_point until = now() + patience_;
    const auto limited = [&body](pg::transaction& inside) -> task<> {
        co_await inside.execute(
            "SELECT set_config('lock_timeout', '5s', true), set_config('synchronous_commit', CASE "
            "current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE "
            "current_setting('synchronous_commit') END, true)");
        co_await body(inside);
    };
    for (unsigned attempt = 0;; attempt = std::min(attempt + 1, 6U)) {
        std::exception_ptr failure;
        try {
            co_await database_.transaction(limited, crawl_isolation());
            co_return;
        } catch (const store_error&) {
            throw;
        } catch (const pg::error&) {
            failure = std::current_exception();
        } catch (const refused&) {
            failure = std::current_exception();
        }
        co_await wait_after(failure, until, attempt);
    }
}

task<> pg_crawl_database::write_once(std::function<task<>(pg::transaction&)> body) {
    const clock::duration patience = std::exchange(patience_, clock::duration::zero());
    std::exception_ptr failure;
    try {
        co_await write(std::move(body));
    } catch (...) {
        failure = std::current_exception();
    }
    patience_ = patience;
    if (failure) {
        std::rethrow_exception(failure);
    }
}

task<pg::rows> pg_crawl_database::read(std::string_view sql,
                                       std::vector<pg::parameter> parameters) {
    const clock::time_point until = now() + patience_;
    for (unsigned attempt = 0;; attempt = std::min(attempt + 1, 6U)) {
        std::exception_ptr failure;
        try {
            pg::rows found = co_await database_.query(names_.sql(sql), parameters);
            co_return found;
        } catch (const pg::error&) {
            failure = std::current_exception();
        } catch (const refused&) {
            failure = std::current_exception();
        }
        co_await wait_after(failure, until, attempt);
    }
}

task<std::vector<pg::rows>> pg_crawl_database::run_all(pg::transaction& inside,
                                                       std::vector<pg_statement> statements) const {
    std::vector<task<pg::rows>> queries;
    queries.reserve(statements.size());
    for (pg_statement& each : statements) {
        queries.push_back(run_statement(inside, names_.sql(each.sql), std::move(each.parameters)));
    }
    std::vector<pg::rows> found = co_await gather(std::move(queries));
    co_return found;
}

task<> pg_crawl_database::lock(pg::transaction& inside) const {
    co_await inside.execute(names_.sql("SELECT 1 FROM @ids FOR UPDATE"));
}

task<> pg_crawl_database::close() {
    co_await database_.close(std::chrono::seconds(5));
}

}  // namespace weir::crawl::detail
