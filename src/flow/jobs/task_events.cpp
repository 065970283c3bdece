// SPDX-License-Identifier: MIT
// The feed wakes readers through one weir::event per reader. A reader clears its event only when it
// has read all that was published, so it cannot miss an event between its check and its wait.

#include <weir/flow/task_events.hpp>

namespace weir {

std::string_view to_string(task_event_kind kind) noexcept {
    switch (kind) {
        case task_event_kind::submitted:
            return "submitted";
        case task_event_kind::started:
            return "started";
        case task_event_kind::progress:
            return "progress";
        case task_event_kind::completed:
            return "completed";
        case task_event_kind::failed:
            return "failed";
        case task_event_kind::cancelled:
            return "cancelled";
        case task_event_kind::lagged:
            return "lagged";
    }
    return "unknown";
}

namespace detail {

void event_feed::publish(task_event published) {
    published.number = ++last_;
    kept_.push_back(std::move(published));
    if (kept_.size() > capacity_) {
        kept_.pop_front();
    }
    wake();
}

void event_feed::close() {
    is_closed_ = true;
    wake();
}

void event_feed::wake() {
    for (reader* const each : readers_) {
        each->fresh.set();
    }
}

}  // namespace detail

task_events::task_events(std::shared_ptr<detail::event_feed> feed, std::uint64_t seen)
    : feed_(std::move(feed)), reader_(std::make_unique<detail::event_feed::reader>()) {
    reader_->next = seen + 1;
    feed_->add(*reader_);
}

task_events::~task_events() {
    if (reader_ != nullptr) {
        feed_->remove(*reader_);
    }
}

task<std::optional<task_event>> task_events::next() {
    detail::event_feed& feed = *feed_;
    detail::event_feed::reader& place = *reader_;
    for (;;) {
        if (place.next < feed.first()) {
            task_event lagged;
            lagged.kind = task_event_kind::lagged;
            lagged.missed = feed.first() - place.next;
            place.next = feed.first();
            lagged.number = place.next - 1;
            co_return lagged;
        }
        if (place.next <= feed.last()) {
            co_return feed.at(place.next++);
        }
        if (feed.is_closed()) {
            co_return std::nullopt;
        }
        place.fresh.clear();
        co_await place.fresh.wait();
    }
}

}  // namespace weir
