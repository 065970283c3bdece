// SPDX-License-Identifier: MIT
// reading: reads several streams, each in a task of its own, into one queue of items.
#pragma once

#include <weir/base/crew.hpp>
#include <weir/flow/stream_source.hpp>
#include <weir/loop.hpp>
#include <weir/sync/semaphore.hpp>

#include <deque>

namespace weir::detail {

template <class Stream>
class reading final : public crew {
public:
    using value_type = stream_value<Stream>;
    static constexpr bool awaits_sources = awaits_close<Stream>;

    // Adds a source of which at most `max` items are read ahead.
    void add(Stream&& source, std::size_t max) {
        lanes_.emplace_back(std::move(source), static_cast<std::ptrdiff_t>(max));
    }

    void begin() {
        for (lane& each : lanes_) {
            each.reader = start(read(each), "stream reader");
        }
    }
    bool ready() const noexcept { return !items_.empty(); }
    bool at_end() const noexcept { return items_.empty() && has_read_all(); }
    value_type take() {
        entry first = std::move(items_.front());
        items_.pop_front();
        return value_type(std::move(*first.item));
    }
    void check_end() const {
        if (failed_ != nullptr) {
            failed_->reader.result();
        }
    }
    task<void> close_sources() {
        for (lane& each : lanes_) {
            co_await close_stream(each.source);
        }
    }

    bool has_read_all() const noexcept { return ended_ == lanes_.size(); }
    std::size_t waiting() const noexcept { return items_.size(); }
    clock::time_point first_came_at() const noexcept { return items_.front().came_at; }

private:
    struct lane {
        lane(Stream&& stream, std::ptrdiff_t max) : source(std::move(stream)), places(max) {}
        Stream source;
        semaphore places;
        handle<void> reader;
    };
    struct entry {
        kept_item<Stream> item;
        semaphore::permit place;
        clock::time_point came_at;
    };

    task<void> read(lane& from) {
        for (;;) {
            semaphore::permit place = co_await from.places.acquire();
            auto item = co_await from.source.next();
            if (!item) {
                break;
            }
            items_.push_back(entry{keep<Stream>(item), std::move(place), now()});
            changed.set();
        }
    }
    // The first failure cancels the other readers.
    void member_ended(fiber& one) noexcept override {
        ++ended_;
        if (failed_ != nullptr || !(one.has(is_failed) || one.has(is_cancelled))) {
            return;
        }
        for (lane& each : lanes_) {
            if (&each.reader.checked() == &one) {
                failed_ = &each;
            } else {
                each.reader.cancel();
            }
        }
    }

    std::deque<lane> lanes_;
    std::deque<entry> items_;
    std::size_t ended_ = 0;
    lane* failed_ = nullptr;
};

}  // namespace weir::detail
