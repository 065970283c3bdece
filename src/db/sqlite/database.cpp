// SPDX-License-Identifier: MIT
// A database is two lanes. Opening and closing touch the disk, so they happen on a thread for
// blocking work.

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
    constexpr std::string_view of = "sqlite::open";
    if (options.max_batch == 0) {
        throw_bad_option(of, "max_batch", 0, "1 or more");
    }
    if (options.max_queue == 0) {
        throw_bad_option(of, "max_queue", 0, "1 or more");
    }
    if (options.busy_timeout < clock::duration::zero()) {
        throw_bad_option(of, "busy_timeout", options.busy_timeout, "zero or more");
    }
    constexpr std::size_t most_readers = 1000;
    if (options.readers > most_readers) {
        throw_bad_option(of, "readers", static_cast<double>(options.readers), "at most 1000");
    }
}

}  // namespace

struct database::state {
    state(std::string given, const open_options& options, const std::atomic<bool>& stop)
        : path(std::move(given)) {
        writer = std::make_shared<detail::lane>(path, options, detail::access::write, 1, stop);
        // What exists for one connection only cannot be read by another.
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
        throw invalid_state("sqlite: the database was moved away");
    }
    return state_->writer;
}

std::shared_ptr<detail::lane> database::reader() const {
    if (state_ == nullptr) {
        throw invalid_state("sqlite: the database was moved away");
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

// The destructor only says so: the writer undoes what was not committed before it does anything
// else.
database::possession::possession(std::shared_ptr<detail::lane> writer)
    : writer_(std::move(writer)),
      own_(detail::owner::fresh()),
      mark_(detail::transactions_around(),
            std::make_shared<const detail::open_transaction>(
                detail::open_transaction{own_, detail::transactions_around().get()})) {}
database::possession::~possession() {
    writer_->release(own_);
}

task<> database::possession::begin() {
    auto begins = [](session& on) { on.on_->begin_writing(); };
    co_await detail::call<decltype(begins)>(writer_, begins, own_);
}

task<> database::possession::commit() {
    auto commits = [](session& on) {
        on.on_->commit();
        if (const std::exception_ptr lost = on.on_->lost()) {
            std::rethrow_exception(lost);
        }
    };
    co_await detail::call<decltype(commits)>(writer_, commits, own_);
}

task<database> open(std::string path, open_options options) {
    check(options);
    auto opens = [&](const std::stop_token& stopped) {
        std::atomic<bool> stop{false};
        const std::stop_callback tells(stopped, [&] { stop.store(true); });
        return std::make_unique<database::state>(std::move(path), options, stop);
    };
    co_return database(co_await run_blocking(opens));
}

}  // namespace weir::sqlite
