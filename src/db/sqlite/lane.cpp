// SPDX-License-Identifier: MIT
// One mutex, one line. Writers take all calls that wait and perform them in one transaction, each behind a
// savepoint, so that one that fails is undone alone; after the commit all are mailed to their loops. Some
// errors make SQLite undo the whole transaction: then each call is performed again, alone, and only the one
// that is to blame fails. While a transaction is open between awaits, the writer listens to its owner only.

#include "lane.hpp"

#include <weir/error.hpp>
#include <weir/loop.hpp>
#include <weir/refusal.hpp>

#include <pthread.h>

#include <algorithm>
#include <atomic>

namespace weir::sqlite::detail {

// ---- calls -----------------------------------------------------------------------------------------

owner owner::fresh() noexcept {
    static std::atomic<std::uint64_t> last{1};
    return owner(++last);
}

bool call_base::start() noexcept {
    auto& home = static_cast<loop&>(waiter().home());
    mail_ = home.mail();
    home.expect_post();
    if (lane_->enter(*this)) {
        return true;
    }
    home.expected_post_came();
    return false;
}

bool call_base::cancel() noexcept {
    if (lane_->withdraw(*this)) {
        static_cast<loop&>(waiter().home()).expected_post_came();
        return true;
    }
    stop_asked_.store(true, std::memory_order_relaxed);
    return false;
}

void call_base::arrive(loop& at) noexcept {
    at.expected_post_came();
    complete();
}

namespace {

// Room for them is made when the writer starts.
constexpr std::size_t most_in_batch = 100'000;

}  // namespace

// ---- the line --------------------------------------------------------------------------------------

void lane::queue::push(call_base& added) noexcept {
    added.previous_ = last;
    added.next_ = nullptr;
    (last != nullptr ? last->next_ : first) = &added;
    last = &added;
    ++size;
}

void lane::queue::remove(call_base& one) noexcept {
    (one.previous_ != nullptr ? one.previous_->next_ : first) = one.next_;
    (one.next_ != nullptr ? one.next_->previous_ : last) = one.previous_;
    --size;
}

call_base* lane::queue::pop() noexcept {
    call_base* const taken = first;
    if (taken != nullptr) {
        remove(*taken);
        taken->stage_ = call_base::stage::taken;
    }
    return taken;
}

lane::lane(const std::string& path, const open_options& options, access kind, std::size_t threads)
    : kind_(kind),
      max_batch_(kind == access::write ? std::min(options.max_batch, most_in_batch) : 1),
      max_queue_(options.max_queue) {
    for (std::size_t i = 0; i < threads; ++i) {
        connections_.push_back(std::make_unique<connection>(path, options, kind));
    }
    try {
        for (const auto& each : connections_) {
            threads_.emplace_back([this, &on = *each] { work(on); });
            ::pthread_setname_np(threads_.back().native_handle(),
                                 kind == access::write ? "sqlite-writer" : "sqlite-reader");
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

std::exception_ptr lane::closed() {
    return std::make_exception_ptr(invalid_state("sqlite: the database is closed"));
}

bool lane::enter(call_base& asked) noexcept {
    const std::lock_guard lock(guard_);
    if (is_closed_) {
        asked.fail(closed());
        return false;
    }
    const bool is_holders = asked.owner_ != owner() && asked.owner_ == holder_;
    if (!is_holders && waiting_.size >= max_queue_) {
        asked.fail(std::make_exception_ptr(error(
            5, "sqlite: " + std::to_string(max_queue_) + " calls wait already; more are refused")));
        return false;
    }
    (is_holders ? of_holder_ : waiting_).push(asked);
    asked.stage_ = call_base::stage::queued;
    wakes_.notify_one();
    return true;
}

bool lane::withdraw(call_base& asked) noexcept {
    const std::lock_guard lock(guard_);
    if (asked.stage_ != call_base::stage::queued) {
        return false;
    }
    const bool is_holders = asked.owner_ != owner() && asked.owner_ == holder_;
    (is_holders ? of_holder_ : waiting_).remove(asked);
    asked.stage_ = call_base::stage::outside;
    return true;
}

void lane::release(owner of) noexcept {
    const std::lock_guard lock(guard_);
    if (of == holder_) {
        holder_is_gone_ = true;
        wakes_.notify_one();
    }
}

void lane::close(bool finishes) noexcept {
    queue left;
    {
        const std::lock_guard lock(guard_);
        is_closed_ = true;
        ends_now_ = ends_now_ || !finishes;
        for (queue* each : {&waiting_, &of_holder_}) {
            while (call_base* const one = finishes ? nullptr : each->pop()) {
                left.push(*one);
            }
        }
        wakes_.notify_all();
    }
    while (call_base* const one = left.first) {
        left.remove(*one);
        one->fail(closed());
        finish(*one, {});
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
    const std::lock_guard lock(guard_);
    all.writes += counts_.writes;
    all.commits += counts_.commits;
    all.reads += counts_.reads;
    all.failed += counts_.failed;
    all.queued += waiting_.size + of_holder_.size;
}

// ---- on the threads ----------------------------------------------------------------------------------

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

bool lane::take(std::vector<call_base*>& batch) {
    std::unique_lock lock(guard_);
    for (;;) {
        if (ends_now_) {
            return false;
        }
        if (holder_ != owner()) {  // only a writer has one
            if (call_base* const next = of_holder_.pop()) {
                batch.push_back(next);
                return true;
            }
            if (holder_is_gone_) {
                return true;
            }
        } else if (call_base* const next = waiting_.pop()) {
            batch.push_back(next);
            if (next->owner_ != owner()) {
                if (next->owner_ != owner::nobody()) {
                    holder_ = next->owner_;
                }
                return true;
            }
            while (kind_ == access::write && batch.size() < max_batch_ &&
                   waiting_.first != nullptr && waiting_.first->owner_ == owner()) {
                batch.push_back(waiting_.pop());
            }
            return true;
        } else if (is_closed_) {
            return false;
        }
        wakes_.wait(lock);
    }
}

void lane::call(connection& on, call_base& one) noexcept {
    on.watch(&one.stop_asked_);
    on.expect_transaction(on.is_in_transaction());
    session here(on);
    one.perform(here);
    on.expect_transaction(false);
    on.watch(nullptr);
}

void lane::perform(connection& on, std::span<call_base* const> batch) noexcept {
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
    if (!together(on, batch)) {
        for (call_base* const each : batch) {
            together(on, {&each, 1});
        }
    }
    for (call_base* const each : batch) {
        finish(*each, {.writes = 1});
    }
}

// A statement of a transaction that is open between awaits, or of none. What it adds to the counts: all
// when the transaction is committed.
database_stats lane::inside(connection& on, call_base& one) noexcept {
    if (is_begun_ && !on.is_in_transaction()) {
        one.fail(connection::undone());
        return {};
    }
    if (one.owner_ == owner::nobody()) {
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

// False: all was undone, and it may be the fault of one of them alone.
bool lane::together(connection& on, std::span<call_base* const> batch) noexcept {
    const bool are_several = batch.size() > 1;
    try {
        on.watch(are_several ? nullptr : &batch.front()->stop_asked_);
        on.begin_writing();
    } catch (...) {
        on.watch(nullptr);
        for (call_base* const each : batch) {
            each->fail(std::current_exception());  // one by one they would only wait longer
        }
        return true;
    }
    try {
        for (call_base* const each : batch) {
            if (are_several) {
                on.save();
            }
            call(on, *each);
            const bool has_failed = each->error() != nullptr;
            if (!on.is_in_transaction()) {
                if (!has_failed) {
                    each->fail(connection::undone());  // it did not care, and nothing is done
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
        on.commit();
        const std::lock_guard lock(guard_);
        ++counts_.commits;
        return true;
    } catch (...) {
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
        const bool has_failed = one.error() != nullptr;
        counts_.failed += has_failed ? 1 : 0;
        counts_.writes += has_failed ? 0 : done.writes;
        counts_.commits += has_failed ? 0 : done.commits;
        counts_.reads += has_failed ? 0 : done.reads;
    }
    weir::detail::send_mail(one.mail_, one);
}

}  // namespace weir::sqlite::detail
