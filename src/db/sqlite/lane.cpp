// SPDX-License-Identifier: MIT
// One mutex, one line. While a transaction is open between awaits, the writer listens to its owner
// only, who has a line of its own; who would wait for that transaction inside of it is told so.
// What the threads do with the calls is in lane_work.cpp.

#include "db/sqlite/lane.hpp"

#include "core/runtime/fiber_extras.hpp"

#include <weir/error.hpp>
#include <weir/loop.hpp>
#include <weir/refusal.hpp>

#include <pthread.h>

#include <algorithm>
#include <atomic>

namespace weir::sqlite::detail {

// ---- calls
// -----------------------------------------------------------------------------------------

open_transactions& transactions_around() noexcept {
    static open_transactions all;
    return all;
}

namespace {

bool is_around(owner of, const weir::detail::context_values* values) noexcept {
    if (values == nullptr || values->table == nullptr) {
        return false;
    }
    for (const auto& [name, value] : *values->table) {
        if (name == &transactions_around()) {
            const auto* each =
                static_cast<const std::shared_ptr<const open_transaction>*>(value.get())->get();
            while (each != nullptr && each->own != of) {
                each = each->outer.get();
            }
            return each != nullptr;
        }
    }
    return false;
}

}  // namespace

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
    return false;
}

bool call_base::is_inside(owner of) const noexcept {
    // Not the running fiber's: a call may be started by the loop.
    const weir::detail::fiber_extras* const extras = waiter().extras;
    return extras != nullptr && is_around(of, extras->context);
}

void call_base::arrive(loop& at) noexcept {
    at.expected_post_came();
    complete();
}

namespace {

// Room for them is made when the writer starts.
constexpr std::size_t most_in_batch = 100'000;

}  // namespace

// ---- the line
// --------------------------------------------------------------------------------------

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

lane::lane(const std::string& path, const open_options& options, access kind, std::size_t threads,
           const std::atomic<bool>& stop)
    : kind_(kind),
      max_batch_(kind == access::write ? std::min(options.max_batch, most_in_batch) : 1),
      max_queue_(options.max_queue),
      alone_(1) {
    for (std::size_t i = 0; i < threads; ++i) {
        connections_.push_back(std::make_unique<connection>(path, options, kind, stop));
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

std::exception_ptr lane::inside_itself() {
    return std::make_exception_ptr(invalid_state(
        "sqlite: the database is used inside a transaction of its own, and would wait for that to "
        "end; use the transaction that the body was given"));
}

void lane::check_outside() const {
    const std::lock_guard lock(guard_);
    if (holder_ != owner() && !holder_is_gone_ &&
        is_around(holder_, weir::detail::current_context())) {
        std::rethrow_exception(inside_itself());
    }
}

bool lane::enter(call_base& asked) noexcept {
    const std::lock_guard lock(guard_);
    if (is_closed_) {
        asked.fail(closed());
        return false;
    }
    const bool is_holders = asked.owner_ != owner() && asked.owner_ == holder_;
    if (!is_holders && holder_ != owner() && !holder_is_gone_ && asked.is_inside(holder_)) {
        asked.fail(inside_itself());
        return false;
    }
    if (!is_holders && waiting_.size >= max_queue_) {
        asked.fail(std::make_exception_ptr(error(
            5, "sqlite: " + std::to_string(max_queue_) + " calls wait already; more are refused")));
        return false;
    }
    (is_holders ? of_holder_ : waiting_).push(asked);
    asked.stage_ = call_base::stage::queued;
    if (is_holders || waiting_.size >= enough_) {
        wakes_.notify_one();
    }
    return true;
}

bool lane::withdraw(call_base& asked) noexcept {
    const std::lock_guard lock(guard_);
    if (asked.stage_ != call_base::stage::queued) {
        asked.stop_asked_.store(true);
        stop_came_.store(true);
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

}  // namespace weir::sqlite::detail
