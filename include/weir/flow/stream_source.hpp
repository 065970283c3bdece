// SPDX-License-Identifier: MIT
// stream_source: the sources that map_concurrent, batch, consume and the stream functions accept.
//
//   a stream    as an rvalue: the function takes it over, and closes it at the end
//   a queue     as an lvalue: read until it is closed and empty; an item is finished (task_done)
//               when its processing has ended, so that join() works
//   a range     as an rvalue: its elements are moved; as an lvalue: they are copied
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

// A queue, which it does not own, as a stream.
template <class Queue>
class queue_reader {
public:
    explicit queue_reader(Queue& queue) noexcept : queue_(&queue) {}
    auto next() noexcept { return queue_->take(); }

private:
    Queue* queue_;
};

template <class Source>
inline constexpr bool is_source =
    is_queue<std::remove_reference_t<Source>> || stream<std::remove_cvref_t<Source>> ||
    std::ranges::input_range<Source>;

template <class Source>
auto to_stream(Source&& source) {
    using plain = std::remove_cvref_t<Source>;
    if constexpr (is_queue<plain>) {
        static_assert(std::is_lvalue_reference_v<Source>,
                      "a queue is not taken over: pass an lvalue");
        return queue_reader<plain>(source);
    } else if constexpr (stream<plain>) {
        static_assert(!std::is_lvalue_reference_v<Source>,
                      "the stream is taken over: write std::move(stream)");
        return plain(std::move(source));
    } else {
        return from(std::forward<Source>(source));
    }
}

template <class Source>
using stream_of = decltype(to_stream(std::declval<Source>()));

// An item that can be stored: a copy of the object that a generator<T&> refers to, else the item
// itself. An item of a queue calls task_done when it is destroyed.
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

// The item's value, as the user's function gets it.
template <class Stream>
using kept_value = decltype(std::move(*std::declval<kept_item<Stream>&>()));

// The result of the user's function, awaited if it is an awaitable.
template <class Function, class... Args>
using called_t = typename call_value<std::invoke_result_t<Function&, Args...>>::type;

// Has the source a close() that must be awaited? The destructor of a generator does the same.
template <class Stream>
inline constexpr bool awaits_close = closes<Stream> && !std::derived_from<Stream, generator_base>;

template <class Stream>
task<void> close_stream(Stream& source) {
    if constexpr (closes<Stream>) {
        co_await source.close();
    } else {
        (void)source;
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

// Calls the function with the item, and keeps the item until the result is ready.
template <class Stream, class Function>
task<called_t<Function, kept_value<Stream>>> call_with_item(Function& function,
                                                            kept_item<Stream> item) {
    using returned = std::invoke_result_t<Function&, kept_value<Stream>>;
    if constexpr (awaitable<returned>) {
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
