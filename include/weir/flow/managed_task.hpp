// SPDX-License-Identifier: MIT
// managed_task: the record that a task manager and its store keep of a task, and queries for it.
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
    std::string name;     // the kind of task; for a named handler, its name
    std::string payload;  // the input of a named handler
    task_state state = task_state::pending;
    std::uint64_t revision = 0;  // transitions so far; fences each write
    std::uint64_t token = 0;     // distinguishes this submission from others with the same id

    wall_time created_at{};
    std::optional<wall_time> started_at;
    std::optional<wall_time> finished_at;

    double progress = 0;  // 0 to 1
    std::string message;  // reported with the progress

    std::string result;  // as text, if the type has a task_text
    std::string error;   // failed: the error; cancelled: the reason

    // Only in the process that ran the task: a persistent store does not keep these.
    std::any value;
    std::exception_ptr exception;
};

struct task_query {
    std::optional<task_state> state{};  // empty: any
    std::string_view name{};            // empty: any
    std::string_view after{};           // the id of the last one seen; empty: from the first
    std::size_t limit = 100;
};

// Writes a result as text, for stores that keep text: strings unchanged, numbers and bool as in
// JSON. Specialise it with a static write() for your own types; other types have no text.
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
