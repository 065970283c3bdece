// SPDX-License-Identifier: MIT
// The writer takes all calls that wait and performs them in one transaction, each behind a
// savepoint, so that a call that fails is rolled back alone; after the commit all are mailed to
// their loops. Some errors make SQLite roll back the whole transaction: then each call is performed
// again, alone, and only the one that caused the error fails.

#include "db/sqlite/write_worker.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace weir::sqlite::detail {

using std::chrono::steady_clock;

write_worker::write_worker(call_queue& queue, lane_counts& counts, connection& on,
                           std::size_t max_batch)
    : queue_(queue),
      counts_(counts),
      on_(on),
      max_batch_(max_batch),
      forecast_(max_batch),
      single_(1) {}

void write_worker::run() noexcept {
    calls batch;
    batch.reserve(max_batch_);
    for (;;) {
        batch.clear();
        if (forecast_.expects_calls()) {
            queue_.spin();
        }
        switch (queue_.take(batch, max_batch_)) {
            case call_queue::next::calls:
                perform(batch);
                break;
            case call_queue::next::end_of_transaction:
                on_.roll_back();
                is_begun_ = false;
                calls_inside_ = 0;
                queue_.end_transaction();
                break;
            case call_queue::next::closed:
                on_.roll_back();
                return;
        }
    }
}

void write_worker::perform(calls& batch) noexcept {
    call_base& first = *batch.front();
    if (first.transaction().is_own()) {
        perform_batch(batch);
        return;
    }
    forecast_.forget();
    const database_stats done = perform_inside(first);
    counts_.add(first, done);
    first.finish();
}

void write_worker::perform_batch(calls& batch) noexcept {
    // Where more calls are expected, one synced commit costs less than two of which one is not.
    is_synced_ = forecast_.expects_more_than(batch.size()) ||
                 std::ranges::any_of(batch, &call_base::is_synced);
    if (is_synced_) {
        forecast_.begin(batch.size(), steady_clock::now());
    } else {
        forecast_.begin_fixed(batch.size());
    }
    if (begin(batch) && !perform_together(batch)) {
        for (call_base* const each : batch) {
            perform_alone(*each);
        }
    }
    counts_.add(batch, {.writes = 1});
    for (call_base* const each : batch) {
        each->finish();
    }
}

database_stats write_worker::perform_inside(call_base& call) noexcept {
    if (is_begun_ && !on_.is_in_transaction()) {
        call.fail(connection::rolled_back_error());
        return {};
    }
    if (call.transaction() == transaction_id::none()) {
        try {
            on_.sync_commits(true);
        } catch (...) {
            call.fail(std::current_exception());
            return {};
        }
        on_.allow_transactions(true);  // VACUUM begins one of its own
        call.run_on(on_);
        on_.allow_transactions(false);
        on_.roll_back();
        return {.writes = 1};
    }
    call.run_on(on_);
    if (std::exchange(is_begun_, true) && call.error() == nullptr) {
        if (!on_.is_in_transaction()) {
            return {.writes = std::exchange(calls_inside_, 0), .commits = 1};
        }
        ++calls_inside_;
    }
    return {};
}

// While another process has the lock, stopped calls leave and the others continue waiting.
bool write_worker::begin(calls& batch) noexcept {
    const steady_clock::time_point since = steady_clock::now();
    for (;;) {
        queue_.stop_flag().store(false);
        drop_stopped(batch);
        if (batch.empty()) {
            return false;
        }
        try {
            on_.watch(&queue_.stop_flag());
            restore_log();
            on_.begin_writing(is_synced_, since);
            return true;
        } catch (...) {
            on_.watch(nullptr);
            if (queue_.stop_flag().load()) {
                continue;
            }
            for (call_base* const each : batch) {
                each->fail(std::current_exception());  // alone, they would only wait longer
            }
            return false;
        }
    }
}

void write_worker::drop_stopped(calls& batch) noexcept {
    std::erase_if(batch, [this](call_base* each) {
        if (!each->is_stopped()) {
            return false;
        }
        constexpr int interrupted = 9;
        each->fail(std::make_exception_ptr(error(interrupted, "sqlite: stopped")));
        counts_.add(*each, {});
        each->finish();
        return true;
    });
}

// A disk that has failed to sync may have lost commits that were made before without a sync.
// Commits behind such a gap would not be found again, so the log is emptied before it is used
// again.
void write_worker::restore_log() {
    if (is_log_doubtful_) {
        on_.empty_log();
        is_log_doubtful_ = false;
        has_unsynced_ = false;
    }
}

void write_worker::perform_alone(call_base& call) noexcept {
    try {
        on_.watch(&call.stop_flag());
        restore_log();
        is_synced_ = call.is_synced();
        on_.begin_writing(is_synced_);
    } catch (...) {
        on_.watch(nullptr);
        call.fail(std::current_exception());
        return;
    }
    single_.assign(1, &call);
    forecast_.begin_fixed(1);
    perform_together(single_);
}

bool write_worker::take_more(calls& batch) {
    if (batch.size() >= forecast_.expected()) {
        return false;
    }
    const bool has_come = queue_.take_more(batch, max_batch_, forecast_.expected() - batch.size(),
                                           forecast_.deadline());
    if (!has_come) {
        forecast_.note_useless_wait();
    }
    return has_come;
}

bool write_worker::perform_together(calls& batch) noexcept {
    const bool are_several = std::max(batch.size(), forecast_.expected()) > 1;
    on_.watch(nullptr);
    try {
        for (std::size_t i = 0; i < batch.size() || take_more(batch); ++i) {
            call_base& call = *batch[i];
            if (are_several) {
                on_.save();
            }
            call.run_on(on_);
            const bool has_failed = call.error() != nullptr;
            if (!on_.is_in_transaction()) {
                if (!has_failed) {
                    // The call ignored an error after which SQLite rolled back.
                    call.fail(connection::rolled_back_error());
                }
                return !are_several;
            }
            if (are_several) {
                has_failed ? on_.roll_back_to_save() : on_.release_save();
            } else if (has_failed) {
                on_.roll_back();
                return true;
            }
        }
        return commit(batch);
    } catch (const error& failure) {
        constexpr int input_output = 10;
        is_log_doubtful_ =
            is_log_doubtful_ || (has_unsynced_ && failure.primary_code() == input_output);
        on_.roll_back();
        if (are_several) {
            return false;
        }
        batch.front()->fail(std::current_exception());
        return true;
    }
}

bool write_worker::commit(const calls& batch) {
    const steady_clock::time_point began = steady_clock::now();
    on_.commit();
    if (const std::exception_ptr lost = on_.lost_error()) {
        // The commit is in a file that was moved away meanwhile. It must not be repeated.
        for (call_base* const each : batch) {
            if (each->error() == nullptr) {
                each->fail(lost);
            }
        }
        return true;
    }
    counts_.add_commit();
    has_unsynced_ = has_unsynced_ || !is_synced_;
    if (is_synced_) {
        forecast_.committed(began, steady_clock::now(), batch.size() + queue_.waiting());
    }
    return true;
}

}  // namespace weir::sqlite::detail
