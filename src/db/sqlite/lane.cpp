// SPDX-License-Identifier: MIT
// Each thread has a connection of its own. The writer's thread runs a write_worker; a reader's
// performs one call after the other, each in a transaction, so that all of it sees the same state.

#include "db/sqlite/lane.hpp"

#include "db/sqlite/write_worker.hpp"

#include <pthread.h>

#include <algorithm>

namespace weir::sqlite::detail {

namespace {

// The writer reserves memory for them when it starts.
constexpr std::size_t largest_batch = 100'000;

}  // namespace

lane::lane(const std::string& path, const open_options& options, access kind, std::size_t threads,
           const std::atomic<bool>& stop)
    : queue_(options.max_queue) {
    for (std::size_t i = 0; i < threads; ++i) {
        connections_.push_back(std::make_unique<connection>(path, options, kind, stop));
    }
    const bool is_writer = kind == access::write;
    const std::size_t max_batch = std::min(options.max_batch, largest_batch);
    try {
        for (const auto& each : connections_) {
            threads_.emplace_back([this, is_writer, max_batch, &on = *each] {
                if (is_writer) {
                    write_worker(queue_, counts_, on, max_batch).run();
                } else {
                    read(on);
                }
            });
            ::pthread_setname_np(threads_.back().native_handle(),
                                 is_writer ? "sqlite-writer" : "sqlite-reader");
        }
    } catch (...) {
        close(false);
        join();
        throw;
    }
}

lane::~lane() {
    close(false);
    join();
}

void lane::read(connection& on) noexcept {
    std::vector<call_base*> batch;
    batch.reserve(1);
    while (queue_.take(batch, 1) == call_queue::next::calls) {
        call_base& call = *batch.front();
        try {
            on.begin_reading();
            call.run_on(on);
        } catch (...) {
            call.fail(std::current_exception());
        }
        on.roll_back();
        counts_.add(call, {.reads = 1});
        call.finish();
        batch.clear();
    }
}

void lane::close(bool finishes) noexcept {
    weir::detail::intrusive_list<call_base> failed;
    queue_.close(finishes, failed);
    while (!failed.empty()) {
        call_base& each = failed.pop_front();
        counts_.add(each, {});
        each.finish();
    }
}

void lane::join() noexcept {
    const std::lock_guard lock(joining_);
    for (std::thread& each : threads_) {
        if (each.joinable()) {
            each.join();
        }
    }
}

void lane::add_to(database_stats& all) const {
    counts_.add_to(all);
    all.queued += queue_.size();
}

}  // namespace weir::sqlite::detail
