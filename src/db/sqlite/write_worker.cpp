// SPDX-License-Identifier: MIT
// Writers take all calls that wait and perform them in one transaction, each behind a savepoint, so
// that one that fails is undone alone; after the commit all are mailed to their loops. Some errors
// make SQLite undo the whole transaction: then each call is performed again, alone, and only the
// one that is to blame fails.

#include "db/sqlite/lane.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace weir::sqlite::detail {

void lane::work(connection& on) noexcept {
    std::vector<call_base*> batch;
    batch.reserve(max_batch_);
    while (take(batch)) {
        if (batch.empty()) {
            on.roll_back();  // the holder has gone
            is_begun_ = false;
            done_inside_ = 0;
            const std::lock_guard lock(guard_);
            holder_ = owner();
            holder_is_gone_ = false;
        } else {
            perform(on, batch);
        }
        batch.clear();
    }
    on.roll_back();
}

void lane::call(connection& on, call_base& one) noexcept {
    on.watch(&one.stop_asked_);
    on.expect_transaction(on.is_in_transaction());
    session here(on);
    one.perform(here);
    on.expect_transaction(false);
    on.watch(nullptr);
}

void lane::perform(connection& on, std::vector<call_base*>& batch) noexcept {
    call_base& first = *batch.front();
    if (first.owner_ != owner()) {
        finish(first, inside(on, first));
        return;
    }
    if (kind_ == access::read) {
        snapshot(on, first);
        finish(first, {.reads = 1});
        return;
    }
    if (begin(on, batch) && !together(on, batch)) {
        for (call_base* const each : batch) {
            alone(on, *each);
        }
    }
    {
        const std::lock_guard lock(guard_);
        for (const call_base* const each : batch) {
            count(*each, {.writes = 1});
        }
    }
    for (call_base* const each : batch) {
        weir::detail::send_mail(each->mail_, *each);
    }
}

// A statement of a transaction that is open between awaits, or of none. What it adds to the counts:
// all when the transaction is committed.
database_stats lane::inside(connection& on, call_base& one) noexcept {
    if (is_begun_ && !on.is_in_transaction()) {
        one.fail(connection::undone());
        return {};
    }
    if (one.owner_ == owner::nobody()) {
        try {
            on.sync_commits(true);
        } catch (...) {
            one.fail(std::current_exception());
            return {};
        }
        on.allow_transactions(true);  // VACUUM makes one of its own
        call(on, one);
        on.allow_transactions(false);
        on.roll_back();
        return {.writes = 1};
    }
    call(on, one);
    if (std::exchange(is_begun_, true) && one.error() == nullptr) {
        if (!on.is_in_transaction()) {
            return {.writes = std::exchange(done_inside_, 0), .commits = 1};
        }
        ++done_inside_;
    }
    return {};
}

void lane::snapshot(connection& on, call_base& one) noexcept {
    try {
        on.begin_reading();
        call(on, one);
    } catch (...) {
        one.fail(std::current_exception());
    }
    on.roll_back();
}

// While somebody else has the lock, who is stopped leaves, and the others go on waiting.
bool lane::begin(connection& on, std::vector<call_base*>& batch) noexcept {
    const auto since = std::chrono::steady_clock::now();
    for (;;) {
        stop_came_.store(false);
        let_stopped_go(batch);
        if (batch.empty()) {
            return false;
        }
        try {
            on.watch(&stop_came_);
            trust_log(on);
            on.begin_writing(syncs_, since);
            return true;
        } catch (...) {
            on.watch(nullptr);
            if (stop_came_.load()) {
                continue;
            }
            for (call_base* const each : batch) {
                each->fail(std::current_exception());  // one by one they would only wait longer
            }
            return false;
        }
    }
}

void lane::let_stopped_go(std::vector<call_base*>& batch) noexcept {
    std::erase_if(batch, [this](call_base* each) {
        if (!each->stop_asked_.load()) {
            return false;
        }
        constexpr int interrupted = 9;
        each->fail(std::make_exception_ptr(error(interrupted, "sqlite: stopped")));
        finish(*each, {});
        return true;
    });
}

// A disk that has failed to sync may have lost what was committed before without one. Commits
// behind such a gap would not be found again, so the log is emptied before it is used again.
void lane::trust_log(connection& on) {
    if (distrusts_log_) {
        on.empty_log();
        distrusts_log_ = false;
        has_unsynced_ = false;
    }
}

void lane::alone(connection& on, call_base& one) noexcept {
    try {
        on.watch(&one.stop_asked_);
        trust_log(on);
        syncs_ = one.is_synced_;
        on.begin_writing(syncs_);
    } catch (...) {
        on.watch(nullptr);
        one.fail(std::current_exception());
        return;
    }
    alone_.assign(1, &one);
    expected_ = 1;
    together(on, alone_);
}

// The transaction is open. False: all was undone, and it may be the fault of one of them alone.
bool lane::together(connection& on, std::vector<call_base*>& batch) noexcept {
    const bool are_several = std::max(batch.size(), expected_) > 1;
    on.watch(nullptr);
    try {
        for (std::size_t i = 0; i < batch.size() || join(batch); ++i) {
            call_base& each = *batch[i];
            if (are_several) {
                on.save();
            }
            call(on, each);
            const bool has_failed = each.error() != nullptr;
            if (!on.is_in_transaction()) {
                if (!has_failed) {
                    each.fail(connection::undone());  // it did not care, and nothing is done
                }
                return !are_several;
            }
            if (are_several) {
                has_failed ? on.undo_to_save() : on.forget_save();
            } else if (has_failed) {
                on.roll_back();
                return true;
            }
        }
        const auto began = std::chrono::steady_clock::now();
        on.commit();
        if (const std::exception_ptr lost = on.lost()) {
            // Meanwhile: nobody would find it. It is done, and must not be repeated.
            for (call_base* const each : batch) {
                if (each->error() == nullptr) {
                    each->fail(lost);
                }
            }
            return true;
        }
        const std::lock_guard lock(guard_);
        ++counts_.commits;
        has_unsynced_ = has_unsynced_ || !syncs_;
        if (syncs_) {
            committed_at_ = std::chrono::steady_clock::now();
            commit_time_ = committed_at_ - began;
            known_ = batch.size() + waiting_.size;
        }
        return true;
    } catch (const error& failure) {
        constexpr int input_output = 10;
        distrusts_log_ =
            distrusts_log_ || (has_unsynced_ && failure.primary_code() == input_output);
        on.roll_back();
        if (are_several) {
            return false;
        }
        batch.front()->fail(std::current_exception());
        return true;
    }
}

void lane::finish(call_base& one, const database_stats& done) noexcept {
    {
        const std::lock_guard lock(guard_);
        count(one, done);
    }
    weir::detail::send_mail(one.mail_, one);
}

void lane::count(const call_base& one, const database_stats& done) noexcept {
    const bool has_failed = one.error() != nullptr;
    counts_.failed += has_failed ? 1 : 0;
    counts_.writes += has_failed ? 0 : done.writes;
    counts_.commits += has_failed ? 0 : done.commits;
    counts_.reads += has_failed ? 0 : done.reads;
}

}  // namespace weir::sqlite::detail
