// SPDX-License-Identifier: MIT
// Streams in time: read ahead, merged, cut into chunks by time, paced, side by side. What needs no
// tasks of its own (map, filter, take, chunk, ...) is in weir/stream.hpp.
//
//     auto events = weir::merge(from_disk(), from_network());
//     auto rows = weir::chunk_within(std::move(events), 500, 100ms);
//     while (auto some = co_await rows.next()) { co_await insert(*some); }
//
// Sources are streams, queues or ranges (flow/stream_source.hpp). buffer, merge and chunk_within
// read theirs in tasks of their own, from the first next() on and never further ahead than they
// say. However they end, those tasks are stopped and awaited and the sources closed; behind the
// scenes, if they were dropped. What was read ahead is gone then; an error of a source that nobody
// has seen by then is reported.
#pragma once

#include <weir/flow/detail/reading.hpp>
#include <weir/scope.hpp>
#include <weir/time.hpp>

#include <concepts>
#include <tuple>
#include <vector>

namespace weir {

namespace detail {

// GCC warns where these are given streams over local lambdas: see spawn.hpp.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif

template <class T, class Stream>
generator<T> relayed(Stream given) {
    auto& source = co_await owned_stream(given);
    while (auto item = co_await source.next()) {
        T value(value_in(item));
        co_yield moved(value);
    }
}
template <class T, class Stream>
generator<T> as_generator(Stream&& given) {
    if constexpr (std::same_as<Stream, generator<T>>) {
        return std::move(given);
    } else {
        return relayed<T, Stream>(std::move(given));
    }
}

template <class Stream>
generator<std::vector<stream_value<Stream>>> chunked_within(stream_owner<reading<Stream>> owner,
                                                            std::size_t size,
                                                            clock::duration linger) {
    stream_owner<reading<Stream>>& owned = co_await closing(std::move(owner));
    reading<Stream>& state = owned.state();
    state.begin();
    for (;;) {
        while (!state.ready() && !state.at_end()) {
            co_await state.changed.wait();
            state.changed.clear();
        }
        if (!state.ready()) {
            break;
        }
        const clock::time_point due = after(state.first_came_at(), linger);
        while (state.waiting() < size && !state.has_read_all() && now() < due) {
            state.changed.clear();
            cancel_scope until_due(due);
            co_await until_due.run(state.changed.wait());
        }
        std::vector<stream_value<Stream>> some;
        some.reserve(std::min(size, state.waiting()));
        while (some.size() < size && state.ready()) {
            some.push_back(state.take());
        }
        co_yield moved(some);
    }
    state.check_end();
}

template <class Stream>
generator<stream_value<Stream>> spaced(Stream given, clock::duration interval) {
    auto& source = co_await owned_stream(given);
    clock::time_point earliest = clock::time_point::min();
    while (auto item = co_await source.next()) {
        if (now() < earliest) {
            co_await sleep_until(earliest);
        }
        earliest = after(now(), interval);
        stream_value<Stream> value(value_in(item));
        co_yield moved(value);
    }
}

template <class Stream, class Limiter>
generator<stream_value<Stream>> limited(Stream given, Limiter& limiter) {
    auto& source = co_await owned_stream(given);
    while (auto item = co_await source.next()) {
        [[maybe_unused]] auto pass = co_await limiter.acquire();
        stream_value<Stream> value(value_in(item));
        co_yield moved(value);
    }
}

template <class... Streams>
struct sources_side_by_side {
    std::tuple<Streams...> streams;

    explicit sources_side_by_side(Streams&&... given) : streams(std::move(given)...) {}
    task<void> close() { co_await close_from<0>(); }
    // Fills the row; false when one is at its end.
    template <std::size_t At, class Row>
    task<bool> read_from(Row& row) {
        if constexpr (At == sizeof...(Streams)) {
            co_return true;
        } else {
            auto item = co_await std::get<At>(streams).next();
            if (!item) {
                co_return false;
            }
            std::get<At>(row).emplace(value_in(item));
            co_return co_await read_from<At + 1>(row);
        }
    }

private:
    template <std::size_t At>
    task<void> close_from() {
        if constexpr (At < sizeof...(Streams)) {
            co_await close_stream(std::get<At>(streams));
            co_await close_from<At + 1>();
        }
    }
};

template <class... Streams>
generator<std::tuple<stream_value<Streams>...>> zipped(sources_side_by_side<Streams...> given) {
    auto& sources = co_await closing(std::move(given));
    for (;;) {
        std::tuple<std::optional<stream_value<Streams>>...> row;
        const bool is_full = co_await sources.template read_from<0>(row);
        if (!is_full) {
            co_return;
        }
        auto values = std::apply(
            [](auto&... each) { return std::tuple<stream_value<Streams>...>(std::move(*each)...); },
            row);
        co_yield moved(values);
    }
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

template <class Limiter>
concept limits = requires(Limiter& limiter) {
    { limiter.acquire() } -> awaitable;
};

}  // namespace detail

// Reads up to `size` items ahead of whoever takes them. A size of 0 throws invalid_argument.
template <stream_source Source>
auto buffer(Source&& items, std::size_t size) {
    detail::check_limit(size, "buffer", "size");
    using state = detail::reading<detail::stream_of<Source>>;
    auto made = std::make_unique<state>();
    made->add(detail::to_stream(std::forward<Source>(items)), size);
    return detail::deliver(detail::stream_owner<state>(std::move(made)));
}

// The items of all, as they come. Fair: one item of each is read ahead, and they are given in the
// order in which they came, so that no source overtakes another twice. Ends when all have; the
// first that fails ends it, after what came before.
template <class T>
generator<T> merge(std::vector<generator<T>> streams) {
    using state = detail::reading<generator<T>>;
    auto made = std::make_unique<state>();
    for (generator<T>& each : streams) {
        made->add(std::move(each), 1);
    }
    return detail::deliver(detail::stream_owner<state>(std::move(made)));
}
template <stream_source First, stream_source... Rest>
    requires(sizeof...(Rest) > 0)
auto merge(First&& first, Rest&&... rest) {
    using value = std::common_type_t<stream_value<detail::stream_of<First>>,
                                     stream_value<detail::stream_of<Rest>>...>;
    std::vector<generator<value>> streams;
    streams.push_back(detail::as_generator<value>(detail::to_stream(std::forward<First>(first))));
    (streams.push_back(detail::as_generator<value>(detail::to_stream(std::forward<Rest>(rest)))),
     ...);
    return merge(std::move(streams));
}

// Vectors of at most `size`, given when they are full or `linger` after their first item came,
// whichever is earlier; what comes while the consumer is busy is in the next one. Never empty. A
// linger of zero gives what there is. Reads at most `size` ahead.
template <stream_source Source>
auto chunk_within(Source&& items, std::size_t size, clock::duration linger) {
    detail::check_limit(size, "chunk_within", "size");
    detail::check_duration(linger, "chunk_within", "linger", true);
    using stream_type = detail::stream_of<Source>;
    using state = detail::reading<stream_type>;
    auto made = std::make_unique<state>();
    made->add(detail::to_stream(std::forward<Source>(items)), size);
    return detail::chunked_within<stream_type>(detail::stream_owner<state>(std::move(made)), size,
                                               linger);
}

// At least `interval` between one item and the next. No bursts are saved up: a late item does not
// let the following one come early.
template <stream_source Source>
auto throttle(Source&& items, clock::duration interval) {
    detail::check_duration(interval, "throttle", "interval", false);
    using stream_type = detail::stream_of<Source>;
    return detail::spaced<stream_type>(detail::to_stream(std::forward<Source>(items)), interval);
}
// One co_await limiter.acquire() for each item, after it was read: a limiter, which must outlive
// the stream. What acquire() gives is kept until the next item is asked for, so that a semaphore
// works too.
template <stream_source Source, detail::limits Limiter>
auto throttle(Source&& items, Limiter& limiter) {
    using stream_type = detail::stream_of<Source>;
    return detail::limited<stream_type, Limiter>(detail::to_stream(std::forward<Source>(items)),
                                                 limiter);
}

// Tuples of one item of each, read from left to right. Ends with the shortest; what those to the
// left of it had given for that row is dropped.
template <stream_source First, stream_source... Rest>
    requires(sizeof...(Rest) > 0)
auto zip(First&& first, Rest&&... rest) {
    using sources =
        detail::sources_side_by_side<detail::stream_of<First>, detail::stream_of<Rest>...>;
    return detail::zipped(sources(detail::to_stream(std::forward<First>(first)),
                                  detail::to_stream(std::forward<Rest>(rest))...));
}

}  // namespace weir
