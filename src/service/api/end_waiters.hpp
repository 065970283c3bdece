// SPDX-License-Identifier: MIT
// Requests that wait for the end of a task: GET /tasks/{id}?wait=30.
//
//     end_waiters::waiter ended(waiters, id);       // from now on no end is missed
//     ... look the task up; if it has not ended:
//     co_await ended.wait(30s);
//
// The store tells of ends as it tells the feed, so waiting costs no call of the store and no timer
// but that of the time limit. Other processes on the same store tell of theirs; since that may be
// lost, who waits there looks again now and then.
#pragma once

#include "service/cluster/news_observer.hpp"

#include <weir/clock.hpp>
#include <weir/service/store.hpp>
#include <weir/service/task_id.hpp>
#include <weir/sync/event.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <unordered_map>

namespace weir::service::detail {

class end_waiters final : public store_observer, public news_observer {
public:
    class waiter;

    end_waiters() = default;
    end_waiters(const end_waiters&) = delete;
    end_waiters& operator=(const end_waiters&) = delete;

    void changed(std::span<const task_event> events) noexcept override;
    void queue_changed(std::string_view) noexcept override {}
    void changed_elsewhere(std::span<const task_event> events, std::uint64_t) noexcept override {
        changed(events);
    }
    void ended_elsewhere(std::span<const task_end> ends) noexcept override;
    // For a while after the last wait, so that requests one after the other need no messages.
    void add_interest(news_interest& to) override;
    // Called when somebody waits; must not throw.
    std::function<void()> on_wait;
    // All current waits end.
    void release_all() noexcept;
    std::size_t size() const noexcept { return waiting_.size(); }

private:
    using waiter_map = std::unordered_multimap<std::int64_t, waiter*>;  // by the task's number

    void end(task_id id) noexcept;

    waiter_map waiting_;
    clock::time_point last_wait_ = clock::time_point::min();
};

class end_waiters::waiter {
public:
    waiter(end_waiters& all, task_id id)
        : all_(all), place_(all.waiting_.emplace(id.number(), this)) {
        if (all.on_wait) {
            all.on_wait();
        }
    }
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;
    ~waiter() { all_.waiting_.erase(place_); }

    // The task has ended since this object was made, or all waits are to end.
    bool is_over() const noexcept { return is_over_.is_set(); }

    // Returns when the task has ended since this object was made, at release_all(), and after
    // `limit` at the latest.
    task<> wait(clock::duration limit);

private:
    friend class end_waiters;

    end_waiters& all_;
    waiter_map::iterator place_;
    event is_over_;
};

}  // namespace weir::service::detail
