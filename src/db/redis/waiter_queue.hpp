// SPDX-License-Identifier: MIT
// The tasks of this process that wait for a shared limit, and their places in the question that is
// in flight.
#pragma once

#include "db/redis/shared_decision.hpp"

#include <weir/base/intrusive_list.hpp>
#include <weir/clock.hpp>
#include <weir/refusal.hpp>
#include <weir/sync/event.hpp>

#include <cstddef>
#include <vector>

namespace weir::redis::detail {

// One waiting task; lives in the frame of its coroutine.
struct shared_waiter : weir::detail::list_link<> {
    enum class state : unsigned char { waiting, granted, refused, away, closed, done };
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    double weight = 1;
    bool may_wait = true;
    bool has_waited = false;  // at least one answer was no
    clock::time_point since{};
    clock::time_point latest{};
    state now = state::waiting;
    weir::refusal refusal{};  // if refused
    server_time granted_at{};
    event answered;
    std::size_t place = none;  // in the question
};

class waiter_queue {
public:
    bool empty() const noexcept { return waiters_.empty(); }
    std::size_t size() const noexcept { return size_; }
    double weight() const noexcept { return weight_; }
    shared_waiter& first() const noexcept { return waiters_.front(); }
    bool is_first(const shared_waiter& waiter) const noexcept {
        return !empty() && &waiters_.front() == &waiter;
    }
    auto begin() const noexcept { return waiters_.begin(); }
    auto end() const noexcept { return waiters_.end(); }

    void push_back(shared_waiter& last) noexcept {
        waiters_.push_back(last);
        ++size_;
        weight_ += last.weight;
    }
    // It loses its place in the question, too.
    void remove(shared_waiter& gone) noexcept {
        waiters_.remove(gone);
        // Fractions may not add up to zero again.
        weight_ = --size_ == 0 ? 0 : weight_ - gone.weight;
        if (gone.place != shared_waiter::none) {
            in_question_[gone.place] = nullptr;
            gone.place = shared_waiter::none;
        }
    }

    // Gives the first waiters, up to the limit, a place in the question.
    void fill(shared_question& question, std::size_t limit) {
        in_question_.clear();
        for (shared_waiter& each : waiters_) {
            if (in_question_.size() == limit) {
                break;
            }
            each.place = in_question_.size();
            in_question_.push_back(&each);
            question.weights.push_back(each.may_wait ? each.weight : -each.weight);
        }
    }
    // The waiter at this place; null: it has left.
    shared_waiter* at(std::size_t place) const noexcept { return in_question_[place]; }
    void end_question() noexcept {
        for (shared_waiter* const each : in_question_) {
            if (each != nullptr) {
                each->place = shared_waiter::none;
            }
        }
        in_question_.clear();
    }

private:
    weir::detail::intrusive_list<shared_waiter> waiters_;
    std::size_t size_ = 0;
    double weight_ = 0;
    std::vector<shared_waiter*> in_question_;
};

}  // namespace weir::redis::detail
