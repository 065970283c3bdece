// SPDX-License-Identifier: MIT
// A database has two lanes, the writer's and the readers'. Opening and closing access the disk, so
// they run on a thread for blocking work.

#include "base/option_checks.hpp"
#include "db/sqlite/lane.hpp"

#include <weir/db/sqlite/database.hpp>
#include <weir/error.hpp>
#include <weir/io/blocking.hpp>

#include <stop_token>

namespace weir::sqlite {

namespace {

void check(const open_options& options) {
    using weir::detail::throw_bad_option;
    constexpr std::string_view owner = "sqlite::open";
    if (options.max_batch == 0) {
        throw_bad_option(owner, "max_batch", 0, "1 or more");
    }
    if (options.max_queue == 0) {
        throw_bad_option(owner, "max_queue", 0, "1 or more");
    }
    if (options.busy_timeout < clock::duration::zero()) {
        throw_bad_option(owner, "busy_timeout", options.busy_timeout, "zero or more");
    }
    constexpr std::size_t most_readers = 1000;
    if (options.readers > most_readers) {
        throw_bad_option(owner, "readers", static_cast<double>(options.readers), "at most 1000");
    }
}

}  // namespace

struct database::state {
    state(std::string file, const open_options& options, const std::atomic<bool>& stop)
        : path(std::move(file)) {
        writer = std::make_shared<detail::lane>(path, options, detail::access::write, 1, stop);
        // Such a database belongs to one connection; no other can read it.
        const bool is_private = path.empty() || path == ":memory:";
        readers = is_private || options.readers == 0
                      ? writer
                      : std::make_shared<detail::lane>(path, options, detail::access::read,
                                                       options.readers, stop);
    }
    state(const state&) = delete;
    state& operator=(const state&) = delete;
    ~state() {
        for (const auto& each : {readers, writer}) {
            if (each != nullptr) {
                each->close(false);
                each->join();
            }
        }
    }

    std::string path;
    std::shared_ptr<detail::lane> writer;
    std::shared_ptr<detail::lane> readers;
};

database::database(std::unique_ptr<state> opened) noexcept : state_(std::move(opened)) {}
database::database(database&&) noexcept = default;
database& database::operator=(database&&) noexcept = default;
database::~database() = default;

std::shared_ptr<detail::lane> database::writer() const {
    if (state_ == nullptr) {
        throw invalid_state("sqlite: the database was moved from");
    }
    return state_->writer;
}

std::shared_ptr<detail::lane> database::reader() const {
    if (state_ == nullptr) {
        throw invalid_state("sqlite: the database was moved from");
    }
    return state_->readers;
}

database_stats database::stats() const {
    database_stats all;
    writer()->add_to(all);
    if (state_->readers != state_->writer) {
        state_->readers->add_to(all);
    }
    return all;
}

const std::string& database::path() const noexcept {
    return state_->path;
}

task<> database::close() {
    const auto writing = writer();
    const auto reading = reader();
    writing->check_outside();
    writing->close(true);
    reading->close(true);
    auto wait = [&] {
        reading->join();
        writing->join();
    };
    co_await run_blocking(wait);
}

// The destructor does not wait: the writer rolls back before it does anything else.
database::open_transaction::open_transaction(std::shared_ptr<detail::lane> writer)
    : writer_(std::move(writer)),
      id_(detail::transaction_id::fresh()),
      mark_(detail::transactions_around(),
            std::make_shared<const detail::enclosing_transaction>(
                detail::enclosing_transaction{id_, detail::transactions_around().get()})) {}
database::open_transaction::~open_transaction() {
    writer_->release(id_);
}

task<> database::open_transaction::begin() {
    auto begins = [](session& on) { on.connection_->begin_writing(); };
    co_await detail::call<decltype(begins)>(writer_, begins, id_);
}

task<> database::open_transaction::commit() {
    auto commits = [](session& on) {
        on.connection_->commit();
        if (const std::exception_ptr lost = on.connection_->lost_error()) {
            std::rethrow_exception(lost);
        }
    };
    co_await detail::call<decltype(commits)>(writer_, commits, id_);
}

task<database> open(std::string path, open_options options) {
    check(options);
    auto opens = [&](const std::stop_token& stopped) {
        std::atomic<bool> stop{false};
        const std::stop_callback forwards(stopped, [&] { stop.store(true); });
        return std::make_unique<database::state>(std::move(path), options, stop);
    };
    co_return database(co_await run_blocking(opens));
}

}  // namespace weir::sqlite
