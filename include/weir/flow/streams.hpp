// SPDX-License-Identifier: MIT
// Stream functions that read ahead or depend on time: buffer, merge, chunk_within, throttle, zip.
// The functions that need neither tasks nor timers (map, filter, take, chunk, ...) are in
// weir/stream.hpp.
//
//     auto events = weir::merge(from_disk(), from_network());
//     auto rows = weir::chunk_within(std::move(events), 500, 100ms);
//     while (auto some = co_await rows.next()) { co_await insert(*some); }
//
// Sources are streams, queues or ranges (flow/stream_source.hpp). buffer, merge and chunk_within
// read their sources in tasks of their own, from the first next() on and never further ahead than
// documented below. However the stream ends, those tasks are stopped and awaited and the sources
// closed; a destruction ends those that wait for nothing else, and gives the others up, as with
// map_concurrent. Items that were read ahead are lost then; a source's error that no consumer has
// seen by then is reported to the loop.
#pragma once

#include <weir/flow/detail/reading.hpp>
#include <weir/scope.hpp>
#include <weir/time.hpp>

#include <concepts>
#include <tuple>
#include <vector>

namespace weir {

namespace detail {

// GCC warns if these get streams over local lambdas: see spawn.hpp.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif

template <class T, class Stream>
generator<T> relayed(Stream stream) {
    auto& source = co_await owned_stream(stream);
    while (auto item = co_await source.next()) {
        T value(value_in(item));
        co_yield moved(value);
    }
}
template <class T, class Stream>
generator<T> as_generator(Stream&& stream) {
    if constexpr (std::same_as<Stream, generator<T>>) {
        return std::move(stream);
    } else {
        return relayed<T, Stream>(std::move(stream));
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
        std::vector<stream_value<Stream>> chunk;
        chunk.reserve(std::min(size, state.waiting()));
        while (chunk.size() < size && state.ready()) {
            chunk.push_back(state.take());
        }
        co_yield moved(chunk);
    }
    state.check_end();
}

template <class Stream>
generator<stream_value<Stream>> spaced(Stream stream, clock::duration interval) {
    auto& source = co_await owned_stream(stream);
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
generator<stream_value<Stream>> limited(Stream stream, Limiter& limiter) {
    auto& source = co_await owned_stream(stream);
    while (auto item = co_await source.next()) {
        [[maybe_unused]] auto pass = co_await limiter.acquire();
        stream_value<Stream> value(value_in(item));
        co_yield moved(value);
    }
}

template <class... Streams>
struct zip_sources {
    std::tuple<Streams...> streams;

    explicit zip_sources(Streams&&... sources) : streams(std::move(sources)...) {}
    task<void> close() { co_await close_from<0>(); }
    // Fills the row; false if a stream is at its end.
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
generator<std::tuple<stream_value<Streams>...>> zipped(zip_sources<Streams...> streams) {
    auto& sources = co_await closing(std::move(streams));
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
concept limiter_like = requires(Limiter& limiter) {
    { limiter.acquire() } -> awaitable;
};

}  // namespace detail

// Reads up to `size` items ahead of the consumer. A size of 0 throws invalid_argument.
template <stream_source Source>
auto buffer(Source&& items, std::size_t size) {
    detail::check_limit(size, "buffer", "size");
    using state = detail::reading<detail::stream_of<Source>>;
    auto reader = std::make_unique<state>();
    reader->add(detail::to_stream(std::forward<Source>(items)), size);
    return detail::deliver(detail::stream_owner<state>(std::move(reader)));
}

// The items of all streams, in the order of their arrival. Fair: one item of each stream is read
// ahead, so no stream overtakes another twice. Ends when all streams have ended; the first failure
// ends it too, after the items that came before.
template <class T>
generator<T> merge(std::vector<generator<T>> streams) {
    using state = detail::reading<generator<T>>;
    auto reader = std::make_unique<state>();
    for (generator<T>& each : streams) {
        reader->add(std::move(each), 1);
    }
    return detail::deliver(detail::stream_owner<state>(std::move(reader)));
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

// Vectors of at most `size` items. A vector is complete when it is full or `linger` after its first
// item came, whichever is earlier; items that come while the consumer is busy go into the next one.
// Vectors are never empty. With a linger of zero, a vector has the items available at that time.
// Reads at most `size` items ahead.
template <stream_source Source>
auto chunk_within(Source&& items, std::size_t size, clock::duration linger) {
    detail::check_limit(size, "chunk_within", "size");
    detail::check_duration(linger, "chunk_within", "linger", true);
    using stream_type = detail::stream_of<Source>;
    using state = detail::reading<stream_type>;
    auto reader = std::make_unique<state>();
    reader->add(detail::to_stream(std::forward<Source>(items)), size);
    return detail::chunked_within<stream_type>(detail::stream_owner<state>(std::move(reader)), size,
                                               linger);
}

// At least `interval` between one item and the next. There is no credit for bursts: after a late
// item the next one does not come early.
template <stream_source Source>
auto throttle(Source&& items, clock::duration interval) {
    detail::check_duration(interval, "throttle", "interval", false);
    using stream_type = detail::stream_of<Source>;
    return detail::spaced<stream_type>(detail::to_stream(std::forward<Source>(items)), interval);
}
// One co_await limiter.acquire() for each item, after the item was read. The limiter must outlive
// the stream. The result of acquire() is kept until the consumer requests the next item, so a
// semaphore works too.
template <stream_source Source, detail::limiter_like Limiter>
auto throttle(Source&& items, Limiter& limiter) {
    using stream_type = detail::stream_of<Source>;
    return detail::limited<stream_type, Limiter>(detail::to_stream(std::forward<Source>(items)),
                                                 limiter);
}

// Tuples with one item of each stream, read from left to right. Ends with the shortest stream;
// items that the streams to its left gave for the incomplete tuple are dropped.
template <stream_source First, stream_source... Rest>
    requires(sizeof...(Rest) > 0)
auto zip(First&& first, Rest&&... rest) {
    using sources = detail::zip_sources<detail::stream_of<First>, detail::stream_of<Rest>...>;
    return detail::zipped(sources(detail::to_stream(std::forward<First>(first)),
                                  detail::to_stream(std::forward<Rest>(rest))...));
}

}  // namespace weir
