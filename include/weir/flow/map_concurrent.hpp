// SPDX-License-Identifier: MIT
// map_concurrent: applies a function to the items of a stream, several at a time.
//
//     auto pages = weir::map_concurrent(std::move(urls), 8, fetch);      // generator<page>
//     while (auto page = co_await pages.next()) { store(*page); }
//
// The source is a stream, a queue or a range (flow/stream_source.hpp). The function returns a task,
// another awaitable, or a value.
//
//   map_concurrent             results in the order of the items
//   map_as_completed           results in the order in which they are ready
//   map_concurrent_settled     outcomes in the order of the items
//   map_as_completed_settled   pairs of an item's number and its outcome, as they are ready
//
// Both the calls and the read-ahead are bounded: an item is in flight from before it is read until
// its result is taken, and at most `limit` items are in flight at any time. So at most `limit`
// calls run, and the source is never read further ahead, however slow the consumer is. Nothing runs
// before the first next().
//
// The first two functions end at the first failure: next() still returns the results before it,
// then throws the error itself. After the failure nothing more is read, and the calls whose results
// can no longer be taken are stopped. In the settled forms a failure is the outcome of one item. In
// all forms, an error of the source comes after all results of the items before it.
//
// Calls and source see the deadlines around the place where the stream is created as theirs
// (current_deadline()), as the children of a group do, but not a timeout around a single next().
//
// When the stream ends early (an error, a stop, close(), or its destruction), all calls are stopped
// and awaited and the source is closed before next() or close() returns. A destruction cannot
// await: it ends each call where that is suspended, before the locals that the call may refer to; a
// call that has to wait before it can end (asynchronous clean-up, a shield, work on a thread) is
// given up, which is reported: nothing of it runs again, and its frame stays in memory.
// weir::with(stream, body) awaits them all. Items in flight are lost. Errors of calls that no
// consumer has seen by then are reported to the loop.
#pragma once

#include <weir/base/crew.hpp>
#include <weir/flow/stream_source.hpp>
#include <weir/gather.hpp>
#include <weir/sync/semaphore.hpp>

#include <cstddef>
#include <deque>
#include <utility>

namespace weir {

namespace detail {

enum class map_form : unsigned char { ordered, as_completed };

// GCC warns if these get local lambdas: see spawn.hpp.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif

template <class Stream, class Function, map_form Form, bool Settled>
class mapping final : public crew {
    using result = called_t<Function, kept_value<Stream>>;
    using settled_type = std::conditional_t<Form == map_form::ordered, outcome<result>,
                                            std::pair<std::size_t, outcome<result>>>;

public:
    using value_type = std::conditional_t<Settled, settled_type, value_or_unit<result>>;
    static constexpr bool awaits_sources = awaits_close<Stream>;

    template <class F>
    mapping(Stream&& source, std::size_t limit, F&& function)
        : source_(std::move(source)),
          function_(std::forward<F>(function)),
          places_(static_cast<std::ptrdiff_t>(limit)) {}

    void begin() { reader_ = start(read(), "map_concurrent"); }
    bool ready() const {
        if constexpr (Form == map_form::ordered) {
            return !calls_.empty() && calls_.front().running.done();
        } else {
            return !ended_.empty();
        }
    }
    bool at_end() const { return reader_.done() && calls_.empty(); }
    void check_end() const { reader_.result(); }

    value_type take() {
        const call taken = remove_next();
        fiber_box<result>& ended = taken.running.box();
        if constexpr (!Settled) {
            check_ended_well(ended);
            return take_value(ended);
        } else if constexpr (Form == map_form::ordered) {
            return outcome_of<true>(ended);
        } else {
            return settled_type(taken.number, outcome_of<true>(ended));
        }
    }

    task<void> close_sources() { return close_stream(source_); }

private:
    struct call {
        std::size_t number;
        handle<result> running;
        semaphore::permit place;
    };

    task<void> read() {
        for (std::size_t number = 0;; ++number) {
            semaphore::permit place = co_await places_.acquire();
            auto item = co_await source_.next();
            if (!item) {
                break;
            }
            auto work = call_with_item<Stream, Function>(function_, keep<Stream>(item));
            handle<result> running = start(std::move(work));
            if (!running) {
                break;
            }
            calls_.push_back(call{number, std::move(running), std::move(place)});
        }
    }

    call remove_next() {
        auto at = calls_.begin();
        if constexpr (Form == map_form::as_completed) {
            at = position_of(*ended_.front());
            ended_.pop_front();
        }
        call next = std::move(*at);
        calls_.erase(at);
        return next;
    }
    auto position_of(const fiber& one) {
        auto at = calls_.begin();
        while (at != calls_.end() && &at->running.checked() != &one) {
            ++at;
        }
        return at;
    }

    void member_ended(fiber& one) noexcept override {
        if (&one == &reader_.checked()) {
            return;
        }
        if constexpr (Form == map_form::as_completed) {
            ended_.push_back(&one);
        }
        if constexpr (!Settled) {
            if (one.has(is_failed) || one.has(is_cancelled)) {
                stop_calls_from(Form == map_form::ordered ? position_of(one) + 1 : calls_.begin());
            }
        }
    }
    // Stops the reader and the calls whose results can no longer be taken.
    void stop_calls_from(typename std::deque<call>::iterator first) noexcept {
        reader_.cancel();
        for (; first != calls_.end(); ++first) {
            if (!first->running.done()) {  // cancelling an ended call would mark its error as seen
                first->running.cancel();
            }
        }
    }

    Stream source_;
    Function function_;
    semaphore places_;
    handle<void> reader_;
    std::deque<call> calls_;    // in the order of their items
    std::deque<fiber*> ended_;  // the calls that have ended, in the order of their ends
};

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

template <
    map_form Form, bool Settled, class Source, class Function,
    bool CanBeCalled = std::is_invocable_v<std::decay_t<Function>&, kept_value<stream_of<Source>>>>
auto start_mapping(Source&& source, std::size_t limit, Function&& function) {
    check_limit(limit, "map_concurrent", "limit");
    static_assert(CanBeCalled,
                  "the function cannot be called with an item of the stream: write a function of "
                  "one parameter, of the stream's value type or a const reference to it");
    if constexpr (CanBeCalled) {
        using state = mapping<stream_of<Source>, std::decay_t<Function>, Form, Settled>;
        return deliver(stream_owner<state>(std::make_unique<state>(
            to_stream(std::forward<Source>(source)), limit, std::forward<Function>(function))));
    } else {
        return refused_call();
    }
}

}  // namespace detail

// A limit of 0 throws invalid_argument.
template <stream_source Source, class Function>
auto map_concurrent(Source&& items, std::size_t limit, Function&& function) {
    WEIR_CHECK_CALLABLE(Function);
    return detail::start_mapping<detail::map_form::ordered, false>(
        std::forward<Source>(items), limit, std::forward<Function>(function));
}
template <stream_source Source, class Function>
auto map_as_completed(Source&& items, std::size_t limit, Function&& function) {
    WEIR_CHECK_CALLABLE(Function);
    return detail::start_mapping<detail::map_form::as_completed, false>(
        std::forward<Source>(items), limit, std::forward<Function>(function));
}
template <stream_source Source, class Function>
auto map_concurrent_settled(Source&& items, std::size_t limit, Function&& function) {
    WEIR_CHECK_CALLABLE(Function);
    return detail::start_mapping<detail::map_form::ordered, true>(
        std::forward<Source>(items), limit, std::forward<Function>(function));
}
template <stream_source Source, class Function>
auto map_as_completed_settled(Source&& items, std::size_t limit, Function&& function) {
    WEIR_CHECK_CALLABLE(Function);
    return detail::start_mapping<detail::map_form::as_completed, true>(
        std::forward<Source>(items), limit, std::forward<Function>(function));
}

}  // namespace weir
