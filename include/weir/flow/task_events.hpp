// SPDX-License-Identifier: MIT
// task_events: the events of a task manager, as a stream for each subscriber.
//
//     weir::task_events events = manager.subscribe();
//     while (auto event = co_await events.next()) { show(*event); }
//
// The manager keeps a limited number of the latest events, once for all subscribers; a subscription
// is a position in them. So a slow subscriber delays no other part and costs no memory: it gets a
// `lagged` event with the number of events it missed. A subscriber that returns passes the last
// number it saw, and gets the events since then.
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
    lagged,  // not about a task: the subscriber missed `missed` events
};
std::string_view to_string(task_event_kind kind) noexcept;

struct task_event {
    task_event() = default;

    std::uint64_t number = 0;  // counts up by one; lagged: the number of the last event missed
    task_event_kind kind = task_event_kind::submitted;
    std::string id;
    std::string name;
    wall_time at{};
    double progress = 0;
    std::string message;       // of the progress; failed: the error; cancelled: the reason
    std::uint64_t missed = 0;  // lagged only
};

namespace detail {

// The latest events and the readers to wake for new ones.
class event_feed {
public:
    struct reader {
        std::uint64_t next = 0;  // number of the next event to read
        event fresh;             // set when there may be a new event
    };

    explicit event_feed(std::size_t capacity) : capacity_(capacity) {}
    void publish(task_event published);
    void close();

    std::uint64_t first() const noexcept { return last_ - kept_.size() + 1; }
    std::uint64_t last() const noexcept { return last_; }
    bool is_closed() const noexcept { return is_closed_; }
    const task_event& at(std::uint64_t number) const {
        return kept_[static_cast<std::size_t>(number - first())];
    }
    void add(reader& added) { readers_.push_back(&added); }
    void remove(reader& removed) noexcept { std::erase(readers_, &removed); }

private:
    void wake();

    std::size_t capacity_;
    std::deque<task_event> kept_;
    std::uint64_t last_ = 0;
    std::vector<reader*> readers_;
    bool is_closed_ = false;
};

}  // namespace detail

// A subscription; its destructor ends it. Move-only; must not be moved while next() waits.
class task_events {
public:
    task_events(std::shared_ptr<detail::event_feed> feed, std::uint64_t seen);
    task_events(task_events&&) noexcept = default;
    task_events& operator=(task_events&&) = delete;
    ~task_events();

    // The next event; empty when the manager was shut down and all events were read. A stopped
    // next() loses no event.
    task<std::optional<task_event>> next();

private:
    std::shared_ptr<detail::event_feed> feed_;
    std::unique_ptr<detail::event_feed::reader> reader_;
};

}  // namespace weir
