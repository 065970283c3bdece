// SPDX-License-Identifier: MIT
// pg_lane: transactions on one connection, one after the other, on a thread of its own.
#pragma once

#include "service/store/postgres/pg_link.hpp"
#include "service/store/postgres/pg_schema.hpp"
#include "service/store/sql_backend.hpp"

#include <weir/cancel.hpp>
#include <weir/io/thread_pool.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

namespace weir::service::detail {

// A thread for calls that block.
class pg_thread {
public:
    explicit pg_thread(std::string_view name)
        : pool_({.max_threads = 1,
                 .queue_limit = 100'000,
                 .idle_time = std::chrono::hours(24 * 365),
                 .name = name}) {}

    // Not stopped: other calls may be in the same transaction.
    template <class Function>
    task<> run(Function& function) {
        co_await shield(run_stoppable(function));
    }
    // The function may take a std::stop_token.
    template <class Function>
    task<> run_stoppable(Function& function) {
        co_await pool_.run(std::ref(function));
    }
    task<> shut_down() { co_await pool_.close(); }

private:
    thread_pool pool_;
};

class pg_lane {
public:
    pg_lane(const pg_settings& settings, std::string_view name)
        : settings_(settings), name_(name), thread_("pg-" + name_) {}
    pg_lane(const pg_lane&) = delete;
    pg_lane& operator=(const pg_lane&) = delete;
    // Where it was not closed: the connection belongs to a loop that is not the one of this thread.
    ~pg_lane() {
        if (link_ != nullptr) {
            std::thread([this] { link_.reset(); }).join();
        }
    }

    task<> read(const sql_work& work) {
        return transact(
            work, [](pg_link& link) { link.begin_reading(); },
            [](pg_link& link) { link.commit(); });
    }
    task<> write(const sql_work& work) {
        return transact(
            work, [](pg_link& link) { link.begin_writing(); },
            [](pg_link& link) { link.commit(false); });
    }
    // Any function of the link.
    template <class Function>
    task<> perform(Function function) {
        auto call = [&](const std::stop_token& stopped) {
            pg_link& on = link();
            pg_link::call current(on);
            const std::stop_callback forwards(stopped, [&current] { current.interrupt(); });
            try {
                function(on, stopped);
            } catch (const pg::error& error) {
                throw_as_unavailable(error, settings_.options.schema);
            }
        };
        ++waiting_;
        const counted guard(waiting_);
        co_await thread_.run_stoppable(call);
    }
    task<> close() {
        auto call = [&] { link_.reset(); };
        co_await thread_.run(call);
        co_await thread_.shut_down();
    }
    std::size_t waiting() const noexcept { return waiting_; }

private:
    struct counted {
        explicit counted(std::size_t& count) noexcept : count_(count) {}
        counted(const counted&) = delete;
        counted& operator=(const counted&) = delete;
        ~counted() { --count_; }
        std::size_t& count_;
    };

    pg_link& link() {
        if (link_ == nullptr) {
            link_ = std::make_unique<pg_link>(settings_, name_);
        }
        return *link_;
    }
    template <class Begin, class Commit>
    task<> transact(const sql_work& work, Begin begin, Commit commit) {
        auto call = [&work, begin, commit](pg_link& on, const std::stop_token& stopped) {
            constexpr int attempts = 2;  // the connection may have been lost since it was used
            for (int attempt = 1;; ++attempt) {
                try {
                    on.open();
                    begin(on);
                    work(on);
                    commit(on);
                    return;
                } catch (const pg::connection_error&) {
                    on.close();
                    if (attempt == attempts || stopped.stop_requested()) {
                        throw;
                    }
                } catch (...) {
                    on.roll_back();
                    throw;
                }
            }
        };
        co_await perform(call);
    }

    const pg_settings& settings_;
    std::string name_;
    std::unique_ptr<pg_link> link_;
    pg_thread thread_;
    std::size_t waiting_ = 0;
};

}  // namespace weir::service::detail
