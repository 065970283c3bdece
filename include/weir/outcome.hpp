// SPDX-License-Identifier: MIT
// outcome<T>: how something ended, as a value: with a value, an error, or a cancellation.
#pragma once

#include <weir/awaitable.hpp>
#include <weir/error.hpp>
#include <weir/handle.hpp>

#include <exception>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace weir {

// Stands for the value of something that has none.
using unit = std::monostate;

namespace detail {

template <class T>
using value_or_unit = std::conditional_t<std::is_void_v<T>, unit, T>;

// A stop that was intercepted: where it was aimed.
struct stop_origin {
    fiber* on = nullptr;
    frame* target = nullptr;
    std::uint32_t serial = 0;  // of the scope; 0: the whole fiber

    // As weir::cancelled carries it.
    std::uint32_t tag() const noexcept {
        return on == nullptr ? 0 : serial == 0 ? UINT32_MAX : serial;
    }
};
stop_origin origin_of(fiber& on, frame* target) noexcept;
// Asks for the same stop again; false on another fiber, or when the scope that it was aimed at has ended.
bool ask_again(const stop_origin& origin) noexcept;

}  // namespace detail

template <class T = void>
class [[nodiscard]] outcome {
    using stored = typename detail::stored<T>::type;

public:
    using value_type = T;

    static outcome from_error(std::exception_ptr error) {
        if (detail::is_cancellation(error)) {
            try {
                std::rethrow_exception(error);
            } catch (const weir::cancelled& stop) {
                return from_cancellation(stop.reason());
            }
        }
        return outcome(state(std::in_place_index<1>, std::move(error)));
    }
    static outcome from_cancellation(std::string reason) {
        return outcome(state(std::in_place_index<2>, std::move(reason)));
    }
    static outcome from_stop(detail::stop_origin origin, std::string reason) {
        outcome made = from_cancellation(std::move(reason));
        made.origin_ = origin;
        made.stopped_ = any_handle(*origin.on);
        return made;
    }
    template <class... Args>
    static outcome from_value(Args&&... args) {
        if constexpr (std::is_reference_v<T>) {
            return outcome(state(std::in_place_index<0>, &args...));
        } else {
            return outcome(state(std::in_place_index<0>, std::forward<Args>(args)...));
        }
    }

    bool has_value() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }
    bool has_error() const noexcept { return state_.index() == 1; }
    // Cancelled: another task's cancellation was seen, or (intercept) this task's own stop.
    bool is_cancelled() const noexcept { return state_.index() == 2; }
    bool is_stop() const noexcept { return is_cancelled() && origin_.on != nullptr; }

    // The value; throws the error, or cancelled.
    decltype(auto) value() & { return get(*this); }
    decltype(auto) value() const& { return get(*this); }
    T value() && {
        check();
        if constexpr (std::is_reference_v<T>) {
            return *std::get<0>(state_);
        } else if constexpr (!std::is_void_v<T>) {
            return std::move(std::get<0>(state_));
        }
    }
    template <class Fallback>
    T value_or(Fallback&& fallback) const& {
        return has_value() ? T(get(*this)) : static_cast<T>(std::forward<Fallback>(fallback));
    }
    // The error; null if there is none. A cancellation counts as weir::cancelled.
    std::exception_ptr error() const {
        if (has_error()) {
            return std::get<1>(state_);
        }
        return is_cancelled() ? std::make_exception_ptr(weir::cancelled(reason())) : nullptr;
    }
    std::string reason() const { return is_cancelled() ? std::get<2>(state_) : std::string(); }

    // co_await std::move(outcome): the value, or the error thrown, or the intercepted stop resumed. Where
    // there is nothing left to stop (the scope it was aimed at has ended, this is another task) or a
    // shield holds it off, weir::cancelled is thrown.
    auto make_operation() && { return recipe{std::move(*this)}; }

private:
    using state = std::variant<stored, std::exception_ptr, std::string>;
    explicit outcome(state made) : state_(std::move(made)) {}

    class unwrap final : public operation {
    public:
        explicit unwrap(outcome&& given) : given_(std::move(given)) {}
        bool ready() noexcept override {
            return !given_.is_stop() || !detail::ask_again(given_.origin_);
        }
        bool start() noexcept override {
            return false;
        }  // held off by a shield: seen as an exception
        bool cancel() noexcept override { return true; }
        T resume() { return std::move(given_).value(); }

    private:
        outcome given_;
    };
    struct recipe {
        using operation_type = unwrap;
        outcome given;
        operator outcome&&() && noexcept { return std::move(given); }  // NOLINT
    };

    void check() const {
        if (has_error()) {
            std::rethrow_exception(std::get<1>(state_));
        }
        if (is_cancelled()) {
            throw weir::cancelled(std::get<2>(state_), origin_.tag());
        }
    }
    template <class Self>
    static decltype(auto) get(Self& self) {
        self.check();
        if constexpr (std::is_reference_v<T>) {
            return static_cast<T>(*std::get<0>(self.state_));
        } else if constexpr (!std::is_void_v<T>) {
            return (std::get<0>(self.state_));
        }
    }

    state state_;
    detail::stop_origin origin_;
    any_handle stopped_;  // so that its fiber cannot be taken for another one at the same address
};

}  // namespace weir
