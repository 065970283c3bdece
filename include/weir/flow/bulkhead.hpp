// SPDX-License-Identifier: MIT
// bulkhead: limits the number of concurrent calls and of waiting calls, so that one slow callee
// cannot exhaust the resources of the others.
//
//     weir::bulkhead database({.max_concurrent = 10, .max_waiting = 100, .max_wait = 2s});
//     auto permit = co_await database.acquire();     // released when it goes out of scope
//     auto rows = co_await database.run([&] { return query("..."); });
//
// It limits concurrency, not the rate: ten concurrent calls are a thousand per second if each takes
// 10 ms, and one per second if each takes 10 s. To limit the rate, use token_bucket.
//
// Higher priorities go first; within a priority, the oldest waiter (or the newest: queue_order). A
// call may have a weight above one: it waits until that many places are free, and no other call
// overtakes it. A fiber that is stopped while it waits leaves the line, and waiters behind it that
// fit continue; one that was admitted and is stopped before it continues passes its places on.
// Belongs to one loop, and must outlive its permits. If it is destroyed while fibers wait, they
// throw invalid_state.
#pragma once

#include <weir/flow/detail/slot_line.hpp>
#include <weir/flow/gated_call.hpp>
#include <weir/flow/hook.hpp>
#include <weir/flow/policy.hpp>
#include <weir/flow/telemetry.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace weir {

class bulkhead;

struct bulkhead_options {
    using policy_type = bulkhead;

    std::size_t max_concurrent = 10;
    std::size_t max_waiting = 65536;  // 0: no call waits
    // Within each priority. With newest_first, a call that arrives when the line is full displaces
    // the oldest waiter of the lowest priority, unless that priority is higher than its own.
    queue_order order = queue_order::oldest_first;
    clock::duration max_wait = clock::duration::max();  // then refused; 0: no call waits
    // The priority of the current call. Called in the calling task, so it may read a task-local.
    // When the line is full, a more important call displaces the newest waiter of the lowest
    // priority. Must not throw.
    hook<weir::priority()> priority_of = {};
    std::size_t reserved = 0;  // places for calls of high priority and above
    std::string_view name = {};
    weir::observer* observer = nullptr;  // notified of "resized", with the new limit
};

using bulkhead_stats = slot_stats;

class bulkhead {
public:
    static constexpr policy_kind kind = policy_kind::bulkhead;

    // Places, released by the destructor.
    class [[nodiscard]] permit {
    public:
        permit() noexcept = default;
        permit(permit&& other) noexcept
            : from_(std::exchange(other.from_, nullptr)), weight_(other.weight_) {}
        permit& operator=(permit&& other) noexcept {
            permit old(std::move(*this));
            from_ = std::exchange(other.from_, nullptr);
            weight_ = other.weight_;
            return *this;
        }
        ~permit() { release(); }

        // Idempotent.
        void release() noexcept {
            if (from_ != nullptr) {
                std::exchange(from_, nullptr)->give_back(weight_);
            }
        }
        explicit operator bool() const noexcept { return from_ != nullptr; }

    private:
        friend class bulkhead;
        permit(detail::slot_line& from, std::size_t weight) noexcept
            : from_(&from), weight_(weight) {}
        detail::slot_line* from_ = nullptr;
        std::size_t weight_ = 0;
    };
    using pass = permit;

    // Throws invalid_argument for invalid options.
    explicit bulkhead(const bulkhead_options& options);
    explicit bulkhead(std::size_t max_concurrent)
        : bulkhead(bulkhead_options{.max_concurrent = max_concurrent}) {}

    // Does not wait; refused while others wait. A weight of 0 throws invalid_argument; one above
    // the limit is always refused.
    admission<permit> try_acquire(std::size_t weight = 1) {
        return try_acquire(weight, priority_now());
    }
    admission<permit> try_acquire(std::size_t weight, weir::priority level) {
        check(weight);
        if (line_.take(weight, level)) [[likely]] {
            return permit(line_, weight);
        }
        line_.count_refused();
        return line_.refusal_for(weight, level);
    }
    // co_await admit(): admission<permit>, after a wait if allowed.
    detail::slot_admit<bulkhead> admit(std::size_t weight = 1) {
        return admit(weight, priority_now());
    }
    detail::slot_admit<bulkhead> admit(std::size_t weight, weir::priority level) {
        check(weight);
        return {*this, line_, weight, level};
    }
    // co_await acquire(): the permit; throws refused.
    detail::slot_acquire<bulkhead> acquire(std::size_t weight = 1) {
        return acquire(weight, priority_now());
    }
    detail::slot_acquire<bulkhead> acquire(std::size_t weight, weir::priority level) {
        check(weight);
        return {*this, line_, weight, level};
    }

    // co_await run(fn): the value of fn(), called when a place is free. Throws its error, or
    // refused.
    template <class Fn>
    auto run(Fn&& fn, std::size_t weight = 1) {
        WEIR_CHECK_CALLABLE(Fn);
        return detail::call_under<detail::call_view::value, detail::held_t<Fn>>(
            this, std::forward<Fn>(fn), static_cast<double>(weight));
    }
    // co_await settle(fn): the outcome as a value.
    template <class Fn>
    auto settle(Fn&& fn, std::size_t weight = 1) {
        WEIR_CHECK_CALLABLE(Fn);
        return detail::call_under<detail::call_view::outcome, detail::held_t<Fn>>(
            this, std::forward<Fn>(fn), static_cast<double>(weight));
    }

    // Calls in flight continue, even above a lower limit; waiters that need more than the limit are
    // refused. Throws invalid_argument unless the limit is above the reserved places.
    void resize(std::size_t max_concurrent);

    const std::string& name() const noexcept { return name_; }
    bulkhead_stats stats() const noexcept { return line_.stats(); }
    void write_metrics(metric_writer& to) const;

    // As a policy: a gate that calls may wait at. The weight of the call is rounded up.
    admission<permit> try_enter(call_context& call) noexcept {
        const std::size_t weight = weight_of(call);
        const weir::priority level = priority_now();
        if (line_.take(weight, level)) [[likely]] {
            return permit(line_, weight);
        }
        return line_.refusal_for(weight, level);
    }
    task<admission<permit>> enter(call_context& call);

private:
    friend class detail::slot_admit<bulkhead>;
    friend class detail::slot_acquire<bulkhead>;
    static constexpr const char* admit_name = "bulkhead.admit";
    static constexpr const char* acquire_name = "bulkhead.acquire";

    permit make_pass(std::size_t weight) noexcept { return permit(line_, weight); }
    weir::priority priority_now() const noexcept {
        return priority_of_ ? priority_of_() : weir::priority::normal;
    }
    static std::size_t weight_of(const call_context& call) noexcept {
        return call.weight() > 1 ? rounded_up(call.weight()) : 1;
    }
    static std::size_t rounded_up(double weight) noexcept;
    static void check(std::size_t weight) {
        if (weight == 0) [[unlikely]] {
            throw_bad_weight();
        }
    }
    [[noreturn]] static void throw_bad_weight();

    detail::slot_line line_;
    hook<weir::priority()> priority_of_;
    weir::observer* observer_;
    std::string name_;
};

}  // namespace weir
