// SPDX-License-Identifier: MIT
// Sources: what map_concurrent, batch, consume and the functions over streams read from.
//
//   a stream    given as an rvalue: taken over, and closed at the end
//   a queue     given as an lvalue: read until it is closed and empty; an item is finished
//               (task_done) when its processing has ended, so that join() works
//   a range     given as an rvalue: its elements are moved; as an lvalue: they are copied
#pragma once

#include <weir/base/to_task.hpp>
#include <weir/stream.hpp>
#include <weir/sync/queue.hpp>
#include <weir/timeout.hpp>

#include <string_view>
#include <type_traits>

namespace weir {

namespace detail {

template <class T>
inline constexpr bool is_queue = false;
template <class T, class Storage>
inline constexpr bool is_queue<basic_queue<T, Storage>> = true;

// A queue of somebody else, as a stream.
template <class Queue>
class queue_reader {
public:
    explicit queue_reader(Queue& from) noexcept : queue_(&from) {}
    auto next() noexcept { return queue_->take(); }

private:
    Queue* queue_;
};

template <class Source>
inline constexpr bool is_source =
    is_queue<std::remove_reference_t<Source>> || stream<std::remove_cvref_t<Source>> ||
    std::ranges::input_range<Source>;

template <class Source>
auto to_stream(Source&& given) {
    using plain = std::remove_cvref_t<Source>;
    if constexpr (is_queue<plain>) {
        static_assert(std::is_lvalue_reference_v<Source>,
                      "the queue is somebody's: give an lvalue");
        return queue_reader<plain>(given);
    } else if constexpr (stream<plain>) {
        static_assert(!std::is_lvalue_reference_v<Source>,
                      "the stream is taken over: write std::move(stream)");
        return plain(std::move(given));
    } else {
        return from(std::forward<Source>(given));
    }
}

template <class Source>
using stream_of = decltype(to_stream(std::declval<Source>()));

// An item as it can be kept: a copy of what a generator<T&> refers to, or the item itself, which
// for a queue knows that it has to be finished.
template <class Stream>
using kept_item = std::conditional_t<std::is_pointer_v<stream_item<Stream>>,
                                     std::optional<stream_value<Stream>>, stream_item<Stream>>;
template <class Stream>
kept_item<Stream> keep(stream_item<Stream>& item) {
    if constexpr (std::is_pointer_v<stream_item<Stream>>) {
        return kept_item<Stream>(*item);
    } else {
        return std::move(item);
    }
}

// What is in it, as the functions of the user get it.
template <class Stream>
using kept_value = decltype(std::move(*std::declval<kept_item<Stream>&>()));

// What a function of the user's gives in the end.
template <class Function, class... Args>
using called_t = typename call_value<std::invoke_result_t<Function&, Args...>>::type;

template <class Stream>
task<void> close_stream(Stream& closed) {
    if constexpr (closes<Stream>) {
        co_await closed.close();
    } else {
        (void)closed;
        co_return;
    }
}

// Throws invalid_argument for 0 and for numbers above PTRDIFF_MAX.
void check_limit(std::size_t limit, std::string_view owner, std::string_view option);
// Throws invalid_argument for negative durations, and for zero unless zero_is_valid.
void check_duration(clock::duration value, std::string_view owner, std::string_view option,
                    bool zero_is_valid);

// The work with the timeout of one item; duration::max() is no timeout.
template <class T>
task<T> with_item_timeout(clock::duration limit, task<T> work) {
    if (limit == clock::duration::max()) {
        return work;
    }
    return to_task(timeout(limit, std::move(work)));
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif

// Calls the function with the item, which it keeps until the result is there.
template <class Stream, class Function>
task<called_t<Function, kept_value<Stream>>> call_with_item(Function& function,
                                                            kept_item<Stream> item) {
    using given = std::invoke_result_t<Function&, kept_value<Stream>>;
    if constexpr (awaitable<given>) {
        co_return co_await std::invoke(function, std::move(*item));
    } else {
        co_return std::invoke(function, std::move(*item));
    }
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

}  // namespace detail

template <class T>
concept stream_source = detail::is_source<T>;

}  // namespace weir
