// SPDX-License-Identifier: MIT
// race: the first success of several tasks.
//
//     page first = co_await race(fetch(primary), fetch(mirror));
//     page best = co_await race(std::move(fetches));        // vector<task<page>>
//
// The first that returns a value wins; the others are stopped and awaited, and then the value is
// given. One that fails is out of the race; if all fail, an error_group has their errors in the
// order of the arguments. Errors of the losers while they are being stopped are reported as
// suppressed. A stop of the racing task stops and awaits all of them before it takes effect. A
// handle may take part: it is awaited, and cancelled when it loses.
#pragma once

#include <weir/gather.hpp>

#include <tuple>
#include <variant>
#include <vector>

namespace weir {

namespace detail {

// One type: itself. Several: a variant, whose index says which argument won.
template <class First, class... Rest>
struct race_result {
    using type = std::variant<element_t<First>, element_t<Rest>...>;
};
template <class First, class... Rest>
    requires(std::is_same_v<First, Rest> && ...)
struct race_result<First, Rest...> {
    using type = First;
};

[[noreturn]] void throw_all_failed(std::span<fiber* const> losers);
[[noreturn]] void throw_empty_race();

template <class T>
T winning_value(const fiber& winner) {
    auto& box = static_cast<fiber_box<T>&>(const_cast<fiber&>(winner));
    if constexpr (std::is_reference_v<T>) {
        return *box.value();
    } else if constexpr (!std::is_void_v<T>) {
        return std::move(box.value());
    }
}

template <class T>
task<T> race_tasks(std::vector<task<T>> work) {
    fan_out children(goal::first_value);
    std::vector<handle<T>> started;
    started.reserve(work.size());
    for (task<T>& each : work) {
        started.push_back(children.start(std::move(each)));
    }
    co_await children;
    if (children.winner() == nullptr) {
        std::vector<fiber*> losers;
        for (const handle<T>& each : started) {
            losers.push_back(&each.checked());
        }
        throw_all_failed(losers);
    }
    co_return winning_value<T>(*children.winner());
}

template <class Result, class... Ts, std::size_t... Indices>
Result winning_variant(const fiber& winner, const std::tuple<handle<Ts>...>& started,
                       std::index_sequence<Indices...>) {
    std::optional<Result> made;
    auto consider = [&]<std::size_t Index>(std::integral_constant<std::size_t, Index>) {
        const auto& each = std::get<Index>(started);
        if (each.valid() && &each.checked() == &winner) {
            made.emplace(std::in_place_index<Index>, take_value(each.box()));
        }
    };
    (consider(std::integral_constant<std::size_t, Indices>{}), ...);
    return std::move(*made);
}

template <class... Ts>
task<typename race_result<Ts...>::type> race_each(task<Ts>... work) {
    using result = typename race_result<Ts...>::type;
    fan_out children(goal::first_value);
    std::tuple<handle<Ts>...> started{children.start(std::move(work))...};
    co_await children;
    if (children.winner() == nullptr) {
        std::vector<fiber*> losers;
        std::apply([&](const auto&... each) { (losers.push_back(&each.checked()), ...); }, started);
        throw_all_failed(losers);
    }
    if constexpr ((std::is_same_v<Ts, result> && ...)) {
        co_return winning_value<result>(*children.winner());
    } else {
        co_return winning_variant<result>(*children.winner(), started,
                                          std::index_sequence_for<Ts...>{});
    }
}

}  // namespace detail

// The value of the first that succeeds. Values of different types come as a variant, in which void
// is weir::unit.
template <detail::task_like... Works>
    requires(sizeof...(Works) > 0)
auto race(Works&&... works) {
    (detail::check_safe_in_await<Works>(), ...);
    return detail::race_each(detail::to_task(std::forward<Works>(works))...);
}
// Throws invalid_argument if there are none.
template <detail::task_like Work>
auto race(std::vector<Work> work) {
    if (work.empty()) {
        detail::throw_empty_race();
    }
    return detail::race_tasks(detail::to_tasks(std::move(work)));
}

// What is no work: what to write instead.
template <class... Works>
    requires detail::not_to_be_run<Works...>
detail::refused_call race(Works&&...) {
    detail::explain_work<typename detail::first_refused<Works...>::type>();
    return {};
}

}  // namespace weir
