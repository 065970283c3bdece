// SPDX-License-Identifier: MIT
// The line in front of a shared limiter, of the tasks of this process. One question is under way at
// a time, and it is about all who are in the line; who has to wait is asked for again when the
// answer said so.
#pragma once

#include <weir/db/redis/detail/shared_decision.hpp>
#include <weir/flow/limiter.hpp>
#include <weir/handle.hpp>
#include <weir/outcome.hpp>
#include <weir/scope.hpp>
#include <weir/sync/event.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::redis {

// What becomes of those who ask while Redis does not answer.
enum class when_away : unsigned char {
    refuse,         // refusal_reason::circuit_open; retry_after is when Redis is asked next
    allow,          // let through, without a limit
    limit_locally,  // each process has a limit of its own meanwhile: `share` of the whole
};

// Let through. `at` is when, by the clock of Redis; is_shared is false if Redis was away, and the
// choice was to go on without it.
struct shared_pass : let_through {
    server_time at{};
    bool is_shared = false;
};

struct shared_limiter_stats : limiter_stats {
    std::uint64_t questions = 0;      // sent to Redis
    std::uint64_t unanswered = 0;     // of them
    std::uint64_t granted_alone = 0;  // while Redis was away
    std::uint64_t given_back = 0;     // taken for tasks that were stopped meanwhile
    bool is_away = false;
};

namespace detail {

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

// One who asks; in the frame of its coroutine.
struct shared_waiter {
    enum class state : unsigned char { waiting, granted, refused, away, gone, done };

    double weight = 1;
    bool may_wait = true;
    bool has_waited = false;  // at least one answer was no
    clock::time_point since{};
    clock::time_point latest{};
    state now = state::waiting;
    refusal why{};
    server_time at{};
    event answered;
    shared_waiter* next = nullptr;
    shared_waiter* previous = nullptr;
    std::size_t asked_as = none;  // place in the question that is under way
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
};

class shared_line : public std::enable_shared_from_this<shared_line> {
public:
    // Throws invalid_argument.
    shared_line(std::unique_ptr<shared_decision> by, const shared_line_options& options);

    // Tells all who wait that it is gone.
    void stop() noexcept;

    static task<admission<shared_pass>> admit(std::shared_ptr<shared_line> own, double weight,
                                              bool may_wait);
    static task<clock::duration> look(std::shared_ptr<shared_line> own, double weight);
    // The decision has changed: asks again at once.
    void revise() noexcept;
    // Throws invalid_argument unless it is a weight that can ever pass.
    void check(double weight) const;

    shared_decision& decision() noexcept { return *decision_; }
    const shared_decision& decision() const noexcept { return *decision_; }
    std::string_view name() const noexcept { return name_; }
    const std::string& trouble() const noexcept { return trouble_; }
    shared_limiter_stats stats() const noexcept;
    void write_metrics(metric_writer& to) const;

private:
    struct place;
    // One who waits without Redis, and goes back to it when it is there.
    struct alone {
        explicit alone(shared_line& of) noexcept : line(of), next(of.alone_) {
            if (next != nullptr) {
                next->previous = this;
            }
            line.alone_ = this;
        }
        alone(const alone&) = delete;
        alone& operator=(const alone&) = delete;
        ~alone() {
            (previous != nullptr ? previous->next : line.alone_) = next;
            if (next != nullptr) {
                next->previous = previous;
            }
        }

        shared_line& line;
        alone* next;
        alone* previous = nullptr;
        cancel_scope until_back;
    };
    void start();  // its task, which ends when nobody waits and Redis is there
    static task<> run(std::shared_ptr<shared_line> own);
    task<> drive();
    task<> ask();
    task<> come_back();
    // At most twice, within the timeout.
    task<outcome<shared_answer>> try_to_ask(shared_question& question);
    task<std::optional<admission<shared_pass>>> answer_alone(double weight, bool may_wait,
                                                             clock::time_point since);

    std::optional<refusal> enter(shared_waiter& asking);
    void leave(shared_waiter& gone) noexcept;
    void unlink(shared_waiter& gone) noexcept;
    void answer(shared_waiter& waiting, shared_waiter::state how) noexcept;
    void refuse(shared_waiter& waiting, const refusal& why) noexcept;
    void refund_later(double weight, server_time taken) noexcept;
    void take_answer(const shared_answer& said, const shared_question& asked);
    // When could such a weight pass at the earliest, behind so much?
    clock::time_point earliest(double ahead, double weight) const noexcept;
    // Those behind the first who has to wait: whoever may not wait so long is told.
    void refuse_late(clock::time_point now) noexcept;
    // Why it has to go, if it could pass then at the earliest; none if it may wait.
    std::optional<refusal> why_not_wait(const shared_waiter& waiting, clock::time_point due,
                                        clock::time_point now) const noexcept;
    admission<shared_pass> pass_alone(clock::time_point since) noexcept;
    void go_away(const std::exception_ptr& why) noexcept;
    void wake() noexcept;
    void tell(std::string_view what) noexcept;

    std::unique_ptr<shared_decision> decision_;
    std::string kind_;
    std::string name_;
    std::size_t max_waiting_;
    clock::duration max_wait_;
    when_away when_away_;
    clock::duration timeout_;
    clock::duration probe_every_;
    observer* observer_;

    shared_waiter* first_ = nullptr;
    shared_waiter* last_ = nullptr;
    std::size_t count_ = 0;
    double weight_ = 0;
    std::vector<shared_waiter*> asked_;  // in the question under way; null: it has left
    std::vector<refund> refunds_;
    clock::time_point due_ = clock::time_point::min();  // of the first; earlier: ask now
    clock::time_point next_probe_{};
    cancel_scope* pause_ = nullptr;  // until due_
    alone* alone_ = nullptr;         // those who wait without Redis
    bool is_away_ = false;
    bool is_closed_ = false;
    bool is_driving_ = false;
    std::string trouble_;
    shared_limiter_stats counts_;
    handle<void> running_;
};

}  // namespace detail

}  // namespace weir::redis
