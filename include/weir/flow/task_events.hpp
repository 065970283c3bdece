// SPDX-License-Identifier: MIT
// The events of a task manager, as a stream for each who asks.
//
//     weir::task_events events = manager.subscribe();
//     while (auto event = co_await events.next()) { show(*event); }
//
// The manager keeps the latest events, so many, for all subscribers together; a subscription is a
// place in them. So a slow subscriber holds up nobody and costs nothing: it finds a `lagged` event
// that says how many it missed. One that comes back tells the last number it saw, and gets what
// came since.
#pragma once

#include <weir/flow/managed_task.hpp>
#include <weir/sync/event.hpp>
#include <weir/task.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir {

enum class task_event_kind : unsigned char {
    submitted,
    started,
    progress,
    completed,
    failed,
    cancelled,
    lagged,  // not about a task: `missed` events are gone
};
std::string_view to_string(task_event_kind kind) noexcept;

struct task_event {
    task_event() = default;

    std::uint64_t number = 0;  // counts up by one; of a lagged event: that of the last one missed
    task_event_kind kind = task_event_kind::submitted;
    std::string id;
    std::string name;
    wall_time at{};
    double progress = 0;
    std::string
        message;  // with progress; the error of a failed task; the reason of a cancelled one
    std::uint64_t missed = 0;  // lagged only
};

namespace detail {

// The latest events, and who wants to know of new ones.
class event_feed {
public:
    struct reader {
        std::uint64_t next = 0;  // the number that it has not seen yet
        event fresh;             // set when there may be something to see
    };

    explicit event_feed(std::size_t most) : most_(most) {}
    void publish(task_event what);
    void close();

    std::uint64_t first() const noexcept { return last_ - kept_.size() + 1; }
    std::uint64_t last() const noexcept { return last_; }
    bool is_closed() const noexcept { return is_closed_; }
    const task_event& at(std::uint64_t number) const {
        return kept_[static_cast<std::size_t>(number - first())];
    }
    void add(reader& to) { readers_.push_back(&to); }
    void remove(reader& gone) noexcept { std::erase(readers_, &gone); }

private:
    void wake();

    std::size_t most_;
    std::deque<task_event> kept_;
    std::uint64_t last_ = 0;
    std::vector<reader*> readers_;
    bool is_closed_ = false;
};

}  // namespace detail

// A subscription; it ends when it goes. Move-only, and not while next() waits.
class task_events {
public:
    task_events(std::shared_ptr<detail::event_feed> feed, std::uint64_t seen);
    task_events(task_events&&) noexcept = default;
    task_events& operator=(task_events&&) = delete;
    ~task_events();

    // The next event; empty when the manager was shut down and everything was seen. A stop loses
    // nothing.
    task<std::optional<task_event>> next();

private:
    std::shared_ptr<detail::event_feed> feed_;
    std::unique_ptr<detail::event_feed::reader> reader_;
};

}  // namespace weir
