// SPDX-License-Identifier: MIT
// The line of this process's tasks in front of a shared limit. One question is in flight at a time,
// about all tasks in the line; if the first has to wait, the next question comes when it may pass.
#pragma once

#include "db/redis/outage.hpp"
#include "db/redis/shared_decision.hpp"
#include "db/redis/waiter_queue.hpp"

#include <weir/db/redis/limiter.hpp>
#include <weir/handle.hpp>
#include <weir/outcome.hpp>
#include <weir/scope.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::redis::detail {

struct shared_line_options {
    std::string_view kind;
    std::string_view name;
    std::size_t max_waiting;
    clock::duration max_wait;
    redis::when_away when_away;
    clock::duration timeout;
    clock::duration probe_every;
    weir::observer* observer;
};

class shared_line : public std::enable_shared_from_this<shared_line> {
public:
    // Throws invalid_argument.
    shared_line(std::unique_ptr<shared_decision> decision, const shared_line_options& options);

    // The limiter is being destroyed: tasks that wait throw invalid_state.
    void stop() noexcept;

    static task<admission<shared_pass>> admit(std::shared_ptr<shared_line> self, double weight,
                                              bool may_wait);
    static task<clock::duration> look(std::shared_ptr<shared_line> self, double weight);
    // The decision has changed: asks again at once.
    void revise() noexcept;
    // Throws invalid_argument unless the weight is positive and can ever pass.
    void check(double weight) const;

    shared_decision& decision() noexcept { return *decision_; }
    const shared_decision& decision() const noexcept { return *decision_; }
    std::string_view name() const noexcept { return name_; }
    const std::string& trouble() const noexcept { return outage_.error(); }
    shared_limiter_stats stats() const noexcept;
    void write_metrics(metric_writer& to) const;

private:
    struct leave_guard;

    // ---- waiting
    // None: it waits. Else it is refused at once.
    std::optional<refusal> enter(shared_waiter& waiter);
    void leave(shared_waiter& gone) noexcept;
    void answer(shared_waiter& waiter, shared_waiter::state result) noexcept;
    void answer_all(shared_waiter::state result) noexcept;
    void refuse(shared_waiter& waiter, const refusal& reason) noexcept;
    void refund_later(double weight, server_time taken) noexcept;
    // When this weight could pass at the earliest, behind so much.
    clock::time_point earliest(double ahead, double weight) const noexcept;
    // Refuses the waiters that may not wait as long as they would have to.
    void refuse_late(clock::time_point now) noexcept;
    // Why the waiter may not wait until it is due; none: it may.
    std::optional<refusal> why_not_wait(const shared_waiter& waiter, clock::time_point due,
                                        clock::time_point now) const noexcept;

    // ---- while Redis is away
    // None: Redis is back.
    task<std::optional<admission<shared_pass>>> answer_alone(double weight, bool may_wait,
                                                             clock::time_point since);
    admission<shared_pass> pass_alone(clock::time_point since) noexcept;
    void begin_outage(const std::exception_ptr& reason) noexcept;
    task<> wait_for_redis();

    // ---- the task that asks; it ends when no task waits and Redis answers
    void start();
    static task<> run(std::shared_ptr<shared_line> self);
    task<> drive();
    task<> ask();
    // At most two attempts, within the timeout.
    task<outcome<shared_answer>> ask_within_timeout(shared_question& question);
    void take_answer(const shared_answer& answered, const shared_question& question);
    void ask_now() noexcept;
    void notify_observer(std::string_view what) noexcept;

    std::unique_ptr<shared_decision> decision_;
    std::string kind_;
    std::string name_;
    std::size_t max_waiting_;
    clock::duration max_wait_;
    when_away when_away_;
    clock::duration timeout_;
    clock::duration probe_every_;
    observer* observer_;

    waiter_queue waiters_;
    std::vector<refund> refunds_;
    clock::time_point due_ = clock::time_point::min();  // of the first; earlier than now: ask now
    cancel_scope* pause_ = nullptr;                     // until due_
    outage outage_;
    bool is_closed_ = false;
    bool is_driving_ = false;
    shared_limiter_stats counts_;
    handle<void> running_;
};

}  // namespace weir::redis::detail
