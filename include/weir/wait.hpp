// SPDX-License-Identifier: MIT
// wait: until some or all of several started tasks have ended, without touching them.
//
//     std::vector<weir::handle<int>> handles = ...;
//     auto [done, pending] = co_await wait(handles, wait_until::first_completed, 5s);
//
// Nothing is thrown, cancelled or counted as seen: the caller looks at the tasks in `done` if it
// wants to know. A stop of the waiting task leaves the tasks alone. However the wait ends, nothing
// is left behind at the tasks. (Name the vector: GCC 12 cannot compile a braced list inside a
// co_await expression.)
#pragma once

#include <weir/base/timer_wheel.hpp>
#include <weir/detail/watch_list.hpp>
#include <weir/loop.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <ranges>
#include <vector>

namespace weir {

enum class wait_until : unsigned char {
    all,              // have ended
    first_completed,  // one has ended, however
    first_exception,  // one has failed (being cancelled is not failing), or all have ended
};

// Each task once, in the order given.
template <class Handle>
struct waited {
    std::vector<Handle> done;
    std::vector<Handle> pending;
};

namespace detail {

class WEIR_MUST_AWAIT handles_wait final : public operation,
                                           private member_watch::owner,
                                           private timer {
public:
    // The watches are linked by the constructor, and belong to the caller.
    handles_wait(watch_list& watched, wait_until until, clock::time_point deadline) noexcept;
    ~handles_wait();

    bool ready() noexcept override { return is_enough(); }
    bool start() noexcept override;
    bool cancel() noexcept override;
    const char* name() const noexcept override { return "wait"; }
    bool resume() const noexcept { return is_enough(); }  // false: the time was up

private:
    void member_ended(member_watch& ended) noexcept override;
    void fire() noexcept override { complete(); }
    void disarm() noexcept;
    void count(const fiber& ended) noexcept;
    bool is_enough() const noexcept;

    watch_list& watched_;
    std::size_t running_ = 0;
    wait_until until_;
    bool one_ended_ = false;
    bool one_failed_ = false;
    bool has_started_ = false;
};

void check_wait(std::size_t count, wait_until until);

template <class Handle>
task<waited<Handle>> wait_for_handles(std::vector<Handle> handles, wait_until until,
                                      clock::time_point deadline) {
    watch_list watched(handles.size());
    for (const Handle& each : handles) {
        watched.add(each.checked());
    }
    handles_wait some(watched, until, deadline);
    const bool enough = co_await some;
    if (!enough) {
        co_await yield();  // what ends at the deadline itself is done
    }
    waited<Handle> split;
    for (std::size_t at = 0; at < handles.size(); ++at) {
        if (watched.is_first_mention(at)) {
            (handles[at].done() ? split.done : split.pending).push_back(std::move(handles[at]));
        }
    }
    co_return split;
}

template <class Range>
concept handle_range = std::ranges::input_range<Range> &&
                       std::derived_from<std::ranges::range_value_t<Range>, any_handle>;

template <handle_range Range>
auto wait_until_time(Range&& handles, wait_until until, clock::time_point deadline) {
    using held = std::ranges::range_value_t<Range>;
    std::vector<held> copied;
    if constexpr (std::is_same_v<Range, std::vector<held>>) {
        copied = std::move(handles);
    } else {
        for (auto&& each : handles) {
            copied.push_back(each);
        }
    }
    check_wait(copied.size(), until);
    for (const held& each : copied) {
        each.checked();
    }
    return wait_for_handles<held>(std::move(copied), until, deadline);
}

}  // namespace detail

// Takes any range of handles: of one type, or any_handle. The same handle given twice counts once.
// Throws invalid_argument for an empty range.
template <detail::handle_range Range>
auto wait(Range&& handles, wait_until until = wait_until::all) {
    return detail::wait_until_time(std::forward<Range>(handles), until, clock::time_point::max());
}
// The same with a limit, counted from the call. When the time is up, that is simply the answer: the
// split as it is then. A task that ends at that very moment counts as done.
template <detail::handle_range Range, class Rep, class Period>
auto wait(Range&& handles, wait_until until, std::chrono::duration<Rep, Period> limit) {
    return detail::wait_until_time(std::forward<Range>(handles), until,
                                   detail::deadline_after(limit));
}
template <detail::handle_range Range, class Rep, class Period>
auto wait(Range&& handles, std::chrono::duration<Rep, Period> limit) {
    return wait(std::forward<Range>(handles), wait_until::all, limit);
}

}  // namespace weir
