// SPDX-License-Identifier: MIT
// What a task manager and its store know about a task, and how one asks for it.
#pragma once

#include <any>
#include <charconv>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

enum class task_state : unsigned char { pending, running, completed, failed, cancelled };
std::string_view to_string(task_state state) noexcept;
constexpr bool is_final(task_state state) noexcept {
    return state >= task_state::completed;
}

// Calendar time, since records may outlive the process and its steady clock.
using wall_time = std::chrono::sys_time<std::chrono::nanoseconds>;

struct managed_task {
    managed_task() = default;  // not an aggregate: safe to pass around in co_await expressions

    std::string id;
    std::string name;     // what kind of task; which handler, if it has one by name
    std::string payload;  // what such a handler is given
    task_state state = task_state::pending;
    std::uint64_t revision = 0;  // transitions so far: fences each write
    std::uint64_t token = 0;     // of this submission: tells it from another with the same id

    wall_time created_at{};
    std::optional<wall_time> started_at;
    std::optional<wall_time> finished_at;

    double progress = 0;  // 0 to 1
    std::string message;  // what was said with it

    std::string result;  // as text, where the type has one: see task_text
    std::string error;   // of a failed task; of a cancelled one the reason

    // Only in the process that ran it; a store that outlives it does not keep these.
    std::any value;
    std::exception_ptr exception;
};

struct task_query {
    std::optional<task_state> state{};  // empty: any
    std::string_view name{};            // empty: any
    std::string_view after{};           // the id of the last one seen; empty: from the first
    std::size_t limit = 100;
};

// How a result is written as text, for stores that keep text: strings as they are, numbers and bool
// as JSON has them. Specialise it with a static write() for types of your own; others have no text.
template <class T>
struct task_text {};
template <class T>
    requires std::convertible_to<const T&, std::string_view>
struct task_text<T> {
    static std::string write(const T& value) { return std::string(std::string_view(value)); }
};
template <>
struct task_text<bool> {
    static std::string write(bool value) { return value ? "true" : "false"; }
};
template <class T>
    requires(std::integral<T> || std::floating_point<T>)
struct task_text<T> {
    static std::string write(T value) {
        char text[64];
        return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
    }
};

}  // namespace weir
