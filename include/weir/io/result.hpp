// SPDX-License-Identifier: MIT
// Results of I/O as values, where an error is an ordinary event: a peer that resets, a port that
// refuses.
//
//     auto count = co_await peer.read(buffer, weir::io::as_result);
//     if (!count) {
//         log(count.error());          // std::error_code; == std::errc::connection_reset
//     } else if (*count == 0) {        // the end
//
// Every read, write, accept, connect, send and receive has this form beside the one that throws. On
// sockets and pipes it costs what the other costs: nothing is thrown inside, and nothing allocated
// for the error. Mistakes of the program (two readers at once, a socket of another loop) are
// exceptions here too, and a stop is a stop. Errors of other kinds, such as those of files, names
// or TLS: weir::settle makes an outcome of anything.
#pragma once

#include <weir/base/to_task.hpp>
#include <weir/io/error.hpp>
#include <weir/task.hpp>

#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

namespace weir::io {

struct as_result_form {
    explicit as_result_form() = default;
};
inline constexpr as_result_form as_result{};

// A value, or the error of the system. T has a default value.
template <class T = void>
class [[nodiscard]] result {
    using stored = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

public:
    using value_type = T;

    result()
        requires std::is_void_v<T>
    = default;
    result(stored value) noexcept(std::is_nothrow_move_constructible_v<stored>)  // NOLINT: a value
        : value_(std::move(value)) {}
    // `attempt` names the call in the text of what value() throws; a literal.
    static result from_error(int error_number, const char* attempt) {
        result made{stored()};
        made.error_ = error_number;
        made.attempt_ = attempt;
        return made;
    }

    bool has_value() const noexcept { return error_ == 0; }
    explicit operator bool() const noexcept { return has_value(); }
    // The value; throws io_error if there is none.
    decltype(auto) value() & { return get(*this); }
    decltype(auto) value() const& { return get(*this); }
    T value() && {
        check();
        if constexpr (!std::is_void_v<T>) {
            return std::move(value_);
        }
    }
    // Only if there is one.
    stored& operator*() noexcept
        requires(!std::is_void_v<T>)
    {
        return value_;
    }
    const stored& operator*() const noexcept
        requires(!std::is_void_v<T>)
    {
        return value_;
    }
    stored* operator->() noexcept
        requires(!std::is_void_v<T>)
    {
        return &value_;
    }
    const stored* operator->() const noexcept
        requires(!std::is_void_v<T>)
    {
        return &value_;
    }
    // No error (false) if there is a value.
    std::error_code error() const noexcept { return {error_, std::system_category()}; }

private:
    template <class Self>
    static decltype(auto) get(Self& self) {
        self.check();
        if constexpr (!std::is_void_v<T>) {
            return (self.value_);
        }
    }
    void check() const {
        if (error_ != 0) {
            throw io_error(error_, attempt_);
        }
    }

    stored value_{};
    int error_ = 0;
    const char* attempt_ = "";
};

// Has the peer gone, in whatever way? The error then says nothing about this side.
inline bool is_disconnect(std::error_code error) noexcept {
    return error == std::errc::connection_reset || error == std::errc::broken_pipe ||
           error == std::errc::connection_aborted || error == std::errc::not_connected ||
           error == std::errc::timed_out;
}

namespace detail {

// For streams whose operations are coroutines: what they throw, caught.
template <class T>
task<result<T>> caught(task<T> work, const char* attempt) {
    int error = 0;
    try {
        if constexpr (std::is_void_v<T>) {
            co_await std::move(work);
            co_return result<T>();
        } else {
            T value = co_await std::move(work);
            co_return result<T>(std::move(value));
        }
    } catch (const io_error& thrown) {
        error = thrown.code().value();
    }
    co_return result<T>::from_error(error, attempt);
}

// The two forms of an operation: one throws its error, the other has it in its result.
template <class Operation>
class WEIR_MUST_AWAIT throwing final : public Operation {
public:
    using Operation::Operation;
    decltype(auto) resume() { return this->thrown(); }
};
template <class Operation>
class WEIR_MUST_AWAIT resulting final : public Operation {
public:
    using Operation::Operation;
    auto resume() { return this->returned(); }
};

}  // namespace detail

}  // namespace weir::io
