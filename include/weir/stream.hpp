// SPDX-License-Identifier: MIT
// Streams: anything with a next() to be awaited that gives an optional (or a pointer), empty at the
// end. Generators are streams, and so is a class of your own. These functions make, change and
// consume them:
//
//     auto names = weir::map(weir::filter(fetch_users(), is_active), name_of);
//     std::vector<std::string> all = co_await weir::collect(std::move(names));
//
// Each takes its stream over, and closes it (if it has a close()) when it has ended or is closed
// itself. The functions given to map, filter and for_each may return a task, which is then awaited.
// Values are moved from one to the next; the objects that a generator<T&> refers to are copied and
// stay unchanged.
#pragma once

#include <weir/generator.hpp>

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <utility>
#include <vector>

namespace weir {

// The result of a stream's next(), and the value in it.
template <class Stream>
using stream_item = detail::awaited_t<decltype(std::declval<Stream&>().next())>;
template <class Stream>
using stream_value = std::remove_cvref_t<decltype(*std::declval<stream_item<Stream>&>())>;

template <class Stream>
concept stream = requires(stream_item<Stream>& item) {
    static_cast<bool>(item);
    *item;
};

namespace detail {

template <class T>
struct awaited_result {
    using type = T;
};
template <class T>
struct awaited_result<task<T>> {
    using type = T;
};
// The result of a function over items: awaited if it is a task.
template <class Function, class... Args>
using result_of = typename awaited_result<std::invoke_result_t<Function&, Args...>>::type;
template <class Function, class... Args>
inline constexpr bool gives_task = is_task<std::invoke_result_t<Function&, Args...>>::value;

// The value in an item, to be passed on: moved out of it, or, where the item only points at an
// object of another owner (a generator<T&>), that object, which is then copied.
template <class Item>
decltype(auto) value_in(Item& item) {
    if constexpr (std::is_pointer_v<Item>) {
        return *item;
    } else {
        return std::move(*item);
    }
}
template <class Stream>
using passed_value = decltype(value_in(std::declval<stream_item<Stream>&>()));

// Can the function be called with an item? If not, the compiler says what it has to take.
template <class Function, class Item,
          bool CanBeCalled = std::is_invocable_v<std::decay_t<Function>&, Item>>
constexpr bool check_item_function() {
    static_assert(CanBeCalled,
                  "the function cannot be called with an item of the stream: write a function of "
                  "one parameter, of the stream's value type or a const reference to it");
    return CanBeCalled;
}

void check_step(bool is_zero);
void check_chunk(std::size_t size);

// Just a reference, where there is nothing to close.
template <class Stream>
class borrowing_awaiter : public boundary_awaitable {
public:
    explicit borrowing_awaiter(Stream& borrowed) noexcept : borrowed_(borrowed) {}
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    Stream& await_resume() const noexcept { return borrowed_; }

private:
    Stream& borrowed_;
};

// The stream that a coroutine was given, to be closed when the coroutine ends.
template <class Stream>
auto owned_stream(Stream& given) {
    if constexpr (closes<Stream>) {
        return closing(std::move(given));
    } else {
        return borrowing_awaiter<Stream>(given);
    }
}

// GCC warns where these are given local lambdas: see spawn.hpp.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif

template <class Int>
generator<Int> count(Int first, Int last, Int step) {
    while (step > 0 ? first < last : first > last) {
        co_yield first;
        // Compared before adding, which might overflow; as unsigned numbers, since so might the
        // distance.
        using distance = std::uintmax_t;
        const auto from = static_cast<distance>(first);
        const auto to = static_cast<distance>(last);
        const auto by = static_cast<distance>(step);
        if (step > 0 ? to - from <= by : from - to <= distance{0} - by) {
            co_return;
        }
        first = static_cast<Int>(first + step);
    }
}

template <class Range>
generator<std::ranges::range_value_t<Range>> each_of(Range items) {
    for (auto&& each : items) {
        std::ranges::range_value_t<Range> value(std::move(each));
        co_yield moved(value);
    }
}

template <class Stream, class Function>
generator<std::remove_cvref_t<result_of<Function, passed_value<Stream>>>> mapped(
    Stream given, Function function) {
    auto& source = co_await owned_stream(given);
    while (auto item = co_await source.next()) {
        if constexpr (gives_task<Function, passed_value<Stream>>) {
            auto made = co_await std::invoke(function, value_in(item));
            co_yield moved(made);
        } else {
            auto made = std::invoke(function, value_in(item));
            co_yield moved(made);
        }
    }
}

template <class Stream, class Predicate>
generator<stream_value<Stream>> filtered(Stream given, Predicate wanted) {
    auto& source = co_await owned_stream(given);
    while (auto item = co_await source.next()) {
        bool passes = false;
        if constexpr (gives_task<Predicate, stream_value<Stream>&>) {
            passes = co_await std::invoke(wanted, *item);
        } else {
            passes = std::invoke(wanted, *item);
        }
        if (passes) {
            if constexpr (std::is_pointer_v<stream_item<Stream>>) {
                co_yield *item;
            } else {
                co_yield moved(*item);
            }
        }
    }
}

template <class Stream>
generator<stream_value<Stream>> taken(Stream given, std::size_t limit) {
    auto& source = co_await owned_stream(given);
    for (std::size_t number = 0; number < limit; ++number) {
        auto item = co_await source.next();
        if (!item) {
            co_return;
        }
        if constexpr (std::is_pointer_v<stream_item<Stream>>) {
            co_yield *item;
        } else {
            co_yield moved(*item);
        }
    }
}

template <class Stream>
generator<std::pair<std::size_t, stream_value<Stream>>> enumerated(Stream given,
                                                                   std::size_t first) {
    auto& source = co_await owned_stream(given);
    while (auto item = co_await source.next()) {
        std::pair<std::size_t, stream_value<Stream>> made(first++, value_in(item));
        co_yield moved(made);
    }
}

template <class Stream>
generator<std::vector<stream_value<Stream>>> chunked(Stream given, std::size_t size) {
    auto& source = co_await owned_stream(given);
    std::vector<stream_value<Stream>> full;
    while (auto item = co_await source.next()) {
        full.push_back(value_in(item));
        if (full.size() == size) {
            co_yield moved(full);
            full.clear();
        }
    }
    if (!full.empty()) {
        co_yield moved(full);
    }
}

template <class Stream>
task<std::vector<stream_value<Stream>>> collected(Stream given) {
    auto& source = co_await owned_stream(given);
    std::vector<stream_value<Stream>> all;
    while (auto item = co_await source.next()) {
        all.push_back(value_in(item));
    }
    co_return all;
}

template <class Stream, class Function>
task<void> visited(Stream given, Function function) {
    auto& source = co_await owned_stream(given);
    while (auto item = co_await source.next()) {
        if constexpr (gives_task<Function, passed_value<Stream>>) {
            co_await std::invoke(function, value_in(item));
        } else {
            std::invoke(function, value_in(item));
        }
    }
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

}  // namespace detail

// ---- makers -------------------------------------------------------------------------------------

// first, first + step, ... up to and without last. A step of zero throws invalid_argument.
template <std::signed_integral Int>
generator<Int> range(Int first, std::type_identity_t<Int> last,
                     std::type_identity_t<Int> step = 1) {
    detail::check_step(step == 0);
    return detail::count<Int>(first, last, step);
}
template <std::signed_integral Int>
generator<Int> range(Int last) {
    return detail::count<Int>(0, last, 1);
}
// The elements of a range: moved if it is given as an rvalue, copied if not.
template <std::ranges::input_range Range>
auto from(Range&& items) {
    return detail::each_of<std::remove_cvref_t<Range>>(std::forward<Range>(items));
}

// ---- between ------------------------------------------------------------------------------------

template <stream Stream, class Function>
auto map(Stream source, Function&& function) {
    WEIR_CHECK_CALLABLE(Function);
    if constexpr (detail::check_item_function<Function, detail::passed_value<Stream>>()) {
        return detail::mapped<Stream, std::decay_t<Function>>(std::move(source),
                                                              std::forward<Function>(function));
    } else {
        return detail::refused_call();
    }
}
template <stream Stream, class Predicate>
auto filter(Stream source, Predicate&& wanted) {
    WEIR_CHECK_CALLABLE(Predicate);
    if constexpr (detail::check_item_function<Predicate, stream_value<Stream>&>()) {
        return detail::filtered<Stream, std::decay_t<Predicate>>(std::move(source),
                                                                 std::forward<Predicate>(wanted));
    } else {
        return detail::refused_call();
    }
}
// The first items, up to the limit; no more are read from the source.
template <stream Stream>
auto take(Stream source, std::size_t limit) {
    return detail::taken<Stream>(std::move(source), limit);
}
// Pairs of number and value.
template <stream Stream>
auto enumerate(Stream source, std::size_t first = 0) {
    return detail::enumerated<Stream>(std::move(source), first);
}
// Vectors of so many, the last one maybe shorter. A size of zero throws invalid_argument.
template <stream Stream>
auto chunk(Stream source, std::size_t size) {
    detail::check_chunk(size);
    return detail::chunked<Stream>(std::move(source), size);
}

// ---- consumers ----------------------------------------------------------------------------------

template <stream Stream>
task<std::vector<stream_value<Stream>>> collect(Stream source) {
    return detail::collected<Stream>(std::move(source));
}
template <stream Stream, class Function>
task<void> for_each(Stream source, Function&& function) {
    WEIR_CHECK_CALLABLE(Function);
    if constexpr (detail::check_item_function<Function, detail::passed_value<Stream>>()) {
        return detail::visited<Stream, std::decay_t<Function>>(std::move(source),
                                                               std::forward<Function>(function));
    } else {
        return {};
    }
}

}  // namespace weir
