// SPDX-License-Identifier: MIT
// The SQLite file as a backend: each call first finds the file again if it was lost, and an error
// of SQLite becomes store_unavailable.

#include "service/store/sql_backends.hpp"
#include "service/store/sqlite/file/store_file.hpp"
#include "service/store/sqlite/sql_store.hpp"
#include "service/store/sqlite/sqlite_session.hpp"

#include <weir/error.hpp>
#include <weir/service/sqlite_store.hpp>

#include <string>
#include <utility>

namespace weir::service {

namespace {

using detail::sql_commit;
using detail::sql_work;
using detail::sqlite_sql_session;

class sqlite_backend final : public detail::sql_backend {
public:
    explicit sqlite_backend(std::unique_ptr<detail::sqlite_file> file) noexcept
        : file_(std::move(file)) {}

    task<> write(const sql_work& work, sql_commit commit) override {
        if (file_->is_lost()) {
            co_await file_->find_again();
        }
        const std::shared_ptr<sqlite::database> database = file_->database();
        auto run = [&](sqlite::session& session) {
            sqlite_sql_session on(session);
            work(on);
        };
        try {
            if (commit == sql_commit::synced) {
                co_await database->write(run);
            } else {
                co_await database->write_unsynced(run);
            }
        } catch (const sqlite::error& error) {
            file_->failed(error);
        }
    }
    task<> read(const sql_work& work) override {
        if (file_->is_lost()) {
            co_await file_->find_again();
        }
        const std::shared_ptr<sqlite::database> database = file_->database();
        auto run = [&](sqlite::session& session) {
            sqlite_sql_session on(session);
            work(on);
        };
        try {
            co_await database->read(run);
        } catch (const sqlite::error& error) {
            file_->failed(error);
        }
    }
    task<> close() override { return file_->close(); }

private:
    std::unique_ptr<detail::sqlite_file> file_;
};

}  // namespace

namespace detail {

task<std::unique_ptr<sql_backend>> open_sqlite_backend(std::string path,
                                                       sqlite_store_options options) {
    std::unique_ptr<sqlite_file> file = co_await sqlite_file::open(std::move(path), options);
    std::unique_ptr<sql_backend> backend = std::make_unique<sqlite_backend>(std::move(file));
    co_return backend;
}

}  // namespace detail

task<std::unique_ptr<store>> open_sqlite_store(std::string path, sqlite_store_options options) {
    if (options.max_queues == 0) {
        throw invalid_argument("open_sqlite_store: max_queues is 0; it must be 1 or more");
    }
    if (options.cache_megabytes == 0 || options.cache_megabytes > 100'000) {
        throw invalid_argument("open_sqlite_store: cache_megabytes is " +
                               std::to_string(options.cache_megabytes) +
                               "; it must be 1 to 100000");
    }
    auto backend = co_await detail::open_sqlite_backend(path, options);
    std::unique_ptr<store> opened = co_await detail::open_sql_store(
        std::move(backend), "the task store " + path, options.max_queues);
    co_return opened;
}

}  // namespace weir::service
