// SPDX-License-Identifier: MIT
// gather: several tasks at once, and their results in order. gather_settled: their outcomes.
//
//     auto [user, orders] = co_await gather(load_user(id), load_orders(id));
//     std::vector<page> pages = co_await gather(std::move(fetches));      // vector<task<page>>
//
// Gather owns what it is given: tasks, operations, callables that make a task. On the first failure
// it stops and awaits the rest, and then throws that first error itself; errors of the others while
// they are being stopped are reported as suppressed. A stop of the gathering task stops and awaits
// all of them before it takes effect. So nothing that was given runs on afterwards, however it
// ends.
//
// Given nothing but handles, gather owns nothing: the tasks run anyway, and it follows asyncio. The
// first error is thrown at once, the others run on, and what they fail with later counts as seen. A
// stop of the gathering task cancels every unfinished one, and takes effect with the first that has
// stopped. Values are copied, or moved where they cannot be copied. The same handle may be given
// twice.
//
// The tuple has weir::unit for a task without a value; if none has a value, there is no result at
// all.
#pragma once

#include <weir/base/to_task.hpp>
#include <weir/detail/combine.hpp>

#include <functional>
#include <tuple>
#include <vector>

namespace weir {

namespace detail {

template <class T>
using gathered_list = std::conditional_t<std::is_void_v<T>, void, std::vector<element_t<T>>>;
template <class... Ts>
using gathered_tuple =
    std::conditional_t<(std::is_void_v<Ts> && ...), void, std::tuple<value_or_unit<Ts>...>>;

template <class T>
task<gathered_list<T>> gather_tasks(std::vector<task<T>> work) {
    fan_out children(goal::values);
    std::vector<handle<T>> started;
    started.reserve(work.size());
    for (task<T>& each : work) {
        started.push_back(children.start(std::move(each)));
    }
    co_await children;
    if constexpr (!std::is_void_v<T>) {
        std::vector<element_t<T>> values;
        values.reserve(started.size());
        for (const handle<T>& each : started) {
            values.emplace_back(take_value(each.box()));
        }
        co_return values;
    }
}

template <class... Ts>
task<gathered_tuple<Ts...>> gather_each(task<Ts>... work) {
    fan_out children(goal::values);
    std::tuple<handle<Ts>...> started{children.start(std::move(work))...};
    co_await children;
    if constexpr (!std::is_void_v<gathered_tuple<Ts...>>) {
        co_return std::apply(
            [](const auto&... each) { return gathered_tuple<Ts...>(take_value(each.box())...); },
            started);
    }
}

template <class T>
task<gathered_list<T>> gather_handles(std::vector<handle<T>> handles) {
    fan_in waiting(goal::values, handles.size());
    for (const handle<T>& each : handles) {
        waiting.add(each.checked());
    }
    co_await waiting;
    if constexpr (!std::is_void_v<T>) {
        std::vector<element_t<T>> values;
        values.reserve(handles.size());
        for (const handle<T>& each : handles) {
            values.emplace_back(copy_value(each.box()));
        }
        co_return values;
    }
}

template <class... Ts>
task<gathered_tuple<Ts...>> gather_each_handle(handle<Ts>... handles) {
    fan_in waiting(goal::values, sizeof...(Ts));
    (waiting.add(handles.checked()), ...);
    co_await waiting;
    if constexpr (!std::is_void_v<gathered_tuple<Ts...>>) {
        co_return gathered_tuple<Ts...>(copy_value(handles.box())...);
    }
}

template <class T>
task<std::vector<outcome<T>>> settle_tasks(std::vector<task<T>> work) {
    fan_out children(goal::outcomes);
    std::vector<handle<T>> started;
    started.reserve(work.size());
    for (task<T>& each : work) {
        started.push_back(children.start(std::move(each)));
    }
    co_await children;
    std::vector<outcome<T>> outcomes;
    outcomes.reserve(started.size());
    for (const handle<T>& each : started) {
        outcomes.push_back(outcome_of<true>(each.box()));
    }
    co_return outcomes;
}

template <class... Ts>
task<std::tuple<outcome<Ts>...>> settle_each(task<Ts>... work) {
    fan_out children(goal::outcomes);
    std::tuple<handle<Ts>...> started{children.start(std::move(work))...};
    co_await children;
    co_return std::apply(
        [](const auto&... each) {
            return std::tuple<outcome<Ts>...>(outcome_of<true>(each.box())...);
        },
        started);
}

template <class T>
task<std::vector<outcome<T>>> settle_handles(std::vector<handle<T>> handles) {
    fan_in waiting(goal::outcomes, handles.size());
    for (const handle<T>& each : handles) {
        waiting.add(each.checked());
    }
    co_await waiting;
    std::vector<outcome<T>> outcomes;
    outcomes.reserve(handles.size());
    for (const handle<T>& each : handles) {
        outcomes.push_back(outcome_of<false>(each.box()));
    }
    co_return outcomes;
}

template <class... Ts>
task<std::tuple<outcome<Ts>...>> settle_each_handle(handle<Ts>... handles) {
    fan_in waiting(goal::outcomes, sizeof...(Ts));
    (waiting.add(handles.checked()), ...);
    co_await waiting;
    co_return std::tuple<outcome<Ts>...>(outcome_of<false>(handles.box())...);
}

// Some of the arguments are not handles: all are run as tasks.
template <class... Works>
concept to_be_run =
    (task_like<Works> && ...) && !(is_handle<std::remove_cvref_t<Works>>::value && ...);

// A vector of anything that can be run, as tasks.
template <class Work>
auto to_tasks(std::vector<Work>&& work) {
    if constexpr (is_task<Work>::value) {
        return std::move(work);
    } else {
        std::vector<task<task_value_t<Work>>> tasks;
        tasks.reserve(work.size());
        for (Work& each : work) {
            tasks.push_back(to_task(std::move(each)));
        }
        return tasks;
    }
}

template <class T>
void check_handles(const std::vector<handle<T>>& handles) {
    for (const handle<T>& each : handles) {
        each.checked();
    }
}

}  // namespace detail

// Runs all of them at once: a tuple of their values, or the first error. See the top of this file.
template <class... Works>
    requires(sizeof...(Works) > 0 && detail::to_be_run<Works...>)
auto gather(Works&&... works) {
    (detail::check_safe_in_await<Works>(), ...);
    return detail::gather_each(detail::to_task(std::forward<Works>(works))...);
}
// The same for any number: a vector of the values, in the order of the tasks.
template <detail::task_like Work>
    requires(!detail::is_handle<Work>::value)
auto gather(std::vector<Work> work) {
    return detail::gather_tasks(detail::to_tasks(std::move(work)));
}
// Waits for tasks that have been started, and leaves them to their owners.
template <class... Ts>
    requires(sizeof...(Ts) > 0)
auto gather(const handle<Ts>&... handles) {
    (handles.checked(), ...);
    return detail::gather_each_handle<Ts...>(handles...);
}
template <class T>
auto gather(std::vector<handle<T>> handles) {
    detail::check_handles(handles);
    return detail::gather_handles(std::move(handles));
}

// Waits until all have ended, and gives each outcome at its place: value, error or cancellation. A
// stop of the waiting task stops (handles: cancels) all of them and takes effect when they have
// ended.
template <class... Works>
    requires(sizeof...(Works) > 0 && detail::to_be_run<Works...>)
auto gather_settled(Works&&... works) {
    (detail::check_safe_in_await<Works>(), ...);
    return detail::settle_each(detail::to_task(std::forward<Works>(works))...);
}
template <detail::task_like Work>
    requires(!detail::is_handle<Work>::value)
auto gather_settled(std::vector<Work> work) {
    return detail::settle_tasks(detail::to_tasks(std::move(work)));
}
template <class... Ts>
    requires(sizeof...(Ts) > 0)
auto gather_settled(const handle<Ts>&... handles) {
    (handles.checked(), ...);
    return detail::settle_each_handle<Ts...>(handles...);
}
template <class T>
auto gather_settled(std::vector<handle<T>> handles) {
    detail::check_handles(handles);
    return detail::settle_handles(std::move(handles));
}

// What is no work: what to write instead.
template <class... Works>
    requires detail::not_to_be_run<Works...>
detail::refused_call gather(Works&&...) {
    detail::explain_work<typename detail::first_refused<Works...>::type>();
    return {};
}
template <class... Works>
    requires detail::not_to_be_run<Works...>
detail::refused_call gather_settled(Works&&...) {
    detail::explain_work<typename detail::first_refused<Works...>::type>();
    return {};
}

// Outcomes sorted by kind, each with its place in the input.
template <class T>
struct partitioned {
    struct value_at {
        std::size_t index;
        detail::element_t<T> value;
    };
    struct error_at {
        std::size_t index;
        std::exception_ptr error;
    };
    std::vector<value_at> values;
    std::vector<error_at> errors;
    std::vector<std::size_t> cancelled;
};

template <class T>
partitioned<T> partition(std::vector<outcome<T>> outcomes) {
    partitioned<T> sorted;
    for (std::size_t index = 0; index < outcomes.size(); ++index) {
        outcome<T>& each = outcomes[index];
        if (each.has_error()) {
            sorted.errors.push_back({index, each.error()});
        } else if (each.is_cancelled()) {
            sorted.cancelled.push_back(index);
        } else if constexpr (std::is_void_v<T>) {
            sorted.values.push_back({index, unit{}});
        } else {
            sorted.values.push_back({index, std::move(each).value()});
        }
    }
    return sorted;
}

}  // namespace weir
