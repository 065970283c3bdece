// SPDX-License-Identifier: MIT
// A store has one thread with a connection for writes, one for heartbeats, which never wait for
// writes, and some for reads, one of them from a standby if there is one. Writes that wait while a
// transaction is under way are performed together in the next.

#include "service/store/postgres/pg_channel.hpp"
#include "service/store/postgres/pg_lane.hpp"
#include "service/store/postgres/pg_maintenance.hpp"
#include "service/store/postgres/pg_replica.hpp"
#include "service/store/postgres/pg_schema.hpp"
#include "service/store/postgres/pg_timeline.hpp"
#include "service/store/postgres/pg_writer.hpp"
#include "service/store/sql_backends.hpp"
#include "service/store/sqlite/sql_store.hpp"

#include <weir/error.hpp>
#include <weir/service/postgres_store.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

namespace weir::service {

namespace {

using detail::pg_lane;
using detail::pg_link;
using detail::pg_replica;
using detail::pg_settings;
using detail::pg_thread;
using detail::pg_write;
using detail::pg_write_line;
using detail::sql_commit;
using detail::sql_work;

class postgres_backend final : public detail::sql_backend {
public:
    postgres_backend(std::string_view url, postgres_store_options options)
        : settings_(url, std::move(options)),
          own_rows_(settings_, "heartbeats"),
          writing_("pg-writer") {
        for (std::size_t i = 0; i < settings_.options.readers; ++i) {
            readers_.push_back(std::make_unique<pg_lane>(settings_, "reader"));
        }
        if (!settings_.options.read_replica.empty()) {
            replica_.emplace(settings_);
        }
    }
    ~postgres_backend() override {
        if (writer_ != nullptr) {
            std::thread([this] { writer_.reset(); }).join();
        }
    }

    task<> prepare() {
        std::string warning;
        auto call = [this, &warning](pg_link& link, const std::stop_token&) {
            try {
                link.open();
                detail::prepare_schema(link, settings_.options);
                settings_.servers->set_has_tables();
                link.close();
                link.open();  // notes the history of the tables
                warning = detail::describe_lossy_standbys(link);
                channel_.emplace(settings_, detail::channel_name(link, settings_.options));
            } catch (...) {
                link.close();
                throw;
            }
        };
        co_await own_rows_.perform(call);
        if (settings_.options.maintains) {
            maintainer_.emplace(settings_);
        }
        warn(warning);
        if (replica_.has_value()) {
            const std::string problem = co_await replica_->find_problem();
            warn(problem);
        }
    }

    task<> write(const sql_work& work, sql_commit commit) override {
        if (commit == sql_commit::own_rows) {
            co_await own_rows_.write(work);
            co_return;
        }
        pg_write mine;
        mine.work = &work;
        mine.is_synced = commit == sql_commit::synced;
        co_await perform(mine);
    }
    task<> write_jointly(detail::sql_joint_work& work) override {
        pg_write mine;
        mine.joint = &work;
        co_await perform(mine);
    }
    task<> read(const sql_work& work) override {
        const auto fewer = [](const auto& one, const auto& other) {
            return one->waiting() < other->waiting();
        };
        return (*std::ranges::min_element(readers_, fewer))->read(work);
    }
    task<std::optional<std::chrono::microseconds>> read_lagging(const sql_work& work) override {
        std::optional<std::chrono::microseconds> lag;
        if (replica_.has_value()) {
            lag = co_await replica_->read(work);
        }
        if (!lag.has_value()) {
            co_await read(work);
        }
        co_return lag;
    }
    std::chrono::microseconds most_lag() const noexcept override {
        return settings_.options.most_lag;
    }
    task<> close() override {
        maintainer_.reset();
        channel_->close();
        for (const auto& each : readers_) {
            co_await each->close();
        }
        if (replica_.has_value()) {
            co_await replica_->close();
        }
        auto end = [this] { writer_.reset(); };
        co_await writing_.run(end);
        co_await writing_.shut_down();
        co_await own_rows_.close();
    }
    bool is_shared() const noexcept override { return true; }
    node_channel* channel() noexcept override { return &*channel_; }

private:
    task<> perform(pg_write& mine) {
        class in_line {
        public:
            in_line(pg_write_line& line, pg_write& write) : line_(line), write_(write) {
                line_.add(write);
            }
            in_line(const in_line&) = delete;
            in_line& operator=(const in_line&) = delete;
            ~in_line() { line_.leave(write_); }

        private:
            pg_write_line& line_;
            pg_write& write_;
        };
        const in_line guard(line_, mine);
        auto call = [&] {
            if (!mine.is_done) {
                perform_waiting();
            }
        };
        co_await writing_.run(call);
        if (mine.error != nullptr) {
            std::rethrow_exception(mine.error);
        }
    }

    void warn(const std::string& problem) const {
        if (!problem.empty() && settings_.options.on_warning) {
            settings_.options.on_warning(problem);
        }
    }

    void perform_waiting() {
        if (writer_ == nullptr) {
            writer_ = std::make_unique<detail::pg_writer>(settings_, line_);
        }
        writer_->perform_waiting();
    }

    pg_settings settings_;
    std::optional<detail::pg_channel> channel_;        // made by prepare()
    std::optional<detail::pg_maintainer> maintainer_;  // the same
    std::vector<std::unique_ptr<pg_lane>> readers_;
    std::optional<pg_replica> replica_;
    pg_lane own_rows_;
    pg_write_line line_;
    std::unique_ptr<detail::pg_writer> writer_;  // used by its thread
    pg_thread writing_;
};

void check_postgres_options(const postgres_store_options& options) {
    const auto is_valid = [](char each) {
        return (each >= 'a' && each <= 'z') || (each >= '0' && each <= '9') || each == '_';
    };
    constexpr std::size_t longest_name = 63;
    if (options.schema.empty() || options.schema.size() > longest_name ||
        !std::ranges::all_of(options.schema, is_valid) || options.schema.starts_with("pg_")) {
        throw invalid_argument("open_postgres_store: schema is '" + options.schema +
                               "'; it must be 1 to 63 of a-z, 0-9 and _, and not begin with pg_");
    }
    if (options.max_queues == 0) {
        throw invalid_argument("open_postgres_store: max_queues is 0; it must be 1 or more");
    }
    if (options.readers == 0 || options.readers > 100) {
        throw invalid_argument("open_postgres_store: readers is " +
                               std::to_string(options.readers) + "; it must be 1 to 100");
    }
    if (!options.read_replica.empty() && !is_postgres_url(options.read_replica)) {
        throw invalid_argument("open_postgres_store: read_replica is '" + options.read_replica +
                               "'; it must be postgres://HOST/DATABASE");
    }
    if (options.most_lag.count() <= 0) {
        throw invalid_argument("open_postgres_store: most_lag must be more than 0");
    }
    if (options.statement_timeout.count() <= 0 || options.lock_timeout.count() <= 0) {
        throw invalid_argument(
            "open_postgres_store: statement_timeout and lock_timeout must be more than 0");
    }
}

}  // namespace

bool is_postgres_url(std::string_view text) noexcept {
    return text.starts_with("postgres://") || text.starts_with("postgresql://");
}

task<std::unique_ptr<detail::sql_backend>> detail::open_postgres_backend(
    std::string url, postgres_store_options options) {
    check_postgres_options(options);
    auto backend = std::make_unique<postgres_backend>(url, std::move(options));
    co_await backend->prepare();
    std::unique_ptr<sql_backend> opened = std::move(backend);
    co_return opened;
}

task<std::unique_ptr<store>> open_postgres_store(std::string url, postgres_store_options options) {
    const std::size_t max_queues = options.max_queues;
    const std::string name = "the task store in the schema " + options.schema;
    auto backend = co_await detail::open_postgres_backend(std::move(url), std::move(options));
    std::unique_ptr<store> opened =
        co_await detail::open_sql_store(std::move(backend), name, max_queues);
    co_return opened;
}

}  // namespace weir::service
