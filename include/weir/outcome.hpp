// SPDX-License-Identifier: MIT
// outcome<T>: how something ended, as a value: with a value, an error, a cancellation, or a
// refusal.
#pragma once

#include <weir/awaitable.hpp>
#include <weir/error.hpp>
#include <weir/handle.hpp>
#include <weir/refusal.hpp>

#include <exception>
#include <memory>
#include <string>
#include <string_view>
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
    static constexpr std::uint32_t whole_fiber = UINT32_MAX;
    std::uint32_t tag() const noexcept {
        return on == nullptr ? 0 : serial == 0 ? whole_fiber : serial;
    }
};
stop_origin origin_of(fiber& on, frame* target) noexcept;
// Requests the same stop again; false on another fiber, or when the scope that it was aimed at has
// ended.
bool ask_again(const stop_origin& origin, std::string_view reason) noexcept;
// The target on the fiber that a tag stands for; null if it is none of the fiber's, or has ended.
frame* find_origin(fiber& on, std::uint32_t tag) noexcept;
// What catchable threw: for which target, null if it was not thrown for this fiber; and why.
struct thrown_stop {
    frame* target = nullptr;
    std::string reason;
};
thrown_stop find_thrown_stop(fiber& on, const std::exception_ptr& error) noexcept;
// The reason of an intercepted stop. The request counts as answered.
std::string take_reason(const stop_origin& origin);

// A cancellation that was seen: rare, so it is kept apart and an outcome stays small.
struct seen_cancellation {
    std::string reason;
    stop_origin origin;  // of this task's own stop
    any_handle stopped;  // so that its fiber cannot be taken for another one at the same address
};

// Is the error weir::refused? Then why; null otherwise.
const refusal* refusal_in(const std::exception_ptr& error) noexcept;

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
        if (const weir::refusal* why = detail::refusal_in(error)) {
            return from_refusal(*why);
        }
        return outcome(std::in_place_index<1>, std::move(error));
    }
    static outcome from_cancellation(std::string reason) {
        return from({.reason = std::move(reason), .origin = {}, .stopped = {}});
    }
    static outcome from_stop(detail::stop_origin origin, std::string reason) {
        return from({std::move(reason), origin, any_handle(*origin.on)});
    }
    static outcome from_refusal(const weir::refusal& why) noexcept {
        return outcome(std::in_place_index<3>, detail::copy_of(why));
    }
    template <class... Args>
    static outcome from_value(Args&&... args) {
        if constexpr (std::is_reference_v<T>) {
            return outcome(std::in_place_index<0>, &args...);
        } else {
            return outcome(std::in_place_index<0>, std::forward<Args>(args)...);
        }
    }

    bool has_value() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }
    bool has_error() const noexcept { return state_.index() == 1; }
    // Cancelled: another task's cancellation was seen, or (intercept) this task's own stop.
    bool is_cancelled() const noexcept { return state_.index() == 2; }
    bool is_stop() const noexcept {
        return is_cancelled() && std::get<2>(state_)->origin.on != nullptr;
    }
    // Refused: a limiter, a breaker or a full queue did not let it through.
    bool is_refused() const noexcept { return state_.index() == 3; }

    // The value; throws the error, or cancelled, or refused.
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
    // The error; null if there is none. A cancellation counts as weir::cancelled, a refusal as
    // weir::refused.
    std::exception_ptr error() const {
        if (has_error()) {
            return std::get<1>(state_);
        }
        if (is_refused()) {
            return std::make_exception_ptr(weir::refused(refusal()));
        }
        return is_cancelled() ? std::make_exception_ptr(weir::cancelled(reason())) : nullptr;
    }
    // The same without a copy, only if has_error().
    const std::exception_ptr& stored_error() const noexcept { return *std::get_if<1>(&state_); }
    std::string reason() const {
        return is_cancelled() ? std::get<2>(state_)->reason : std::string();
    }
    // Only if is_refused().
    const weir::refusal& refusal() const noexcept { return *std::get_if<3>(&state_); }

    // co_await std::move(outcome): the value, or the error thrown, or the intercepted stop resumed.
    // Where there is nothing left to stop (the scope it was aimed at has ended, this is another
    // task) or a shield holds it off, weir::cancelled is thrown.
    auto make_operation() && { return recipe{std::move(*this)}; }

private:
    using state = std::variant<stored, std::exception_ptr,
                               std::shared_ptr<const detail::seen_cancellation>, weir::refusal>;
    // In place: GCC takes a variant that is moved for one that may be uninitialised.
    template <std::size_t Index, class... Args>
    explicit outcome(std::in_place_index_t<Index> which, Args&&... args)
        : state_(which, std::forward<Args>(args)...) {}
    static outcome from(detail::seen_cancellation seen) {
        return outcome(std::in_place_index<2>,
                       std::make_shared<const detail::seen_cancellation>(std::move(seen)));
    }

    class WEIR_MUST_AWAIT unwrap final : public operation {
    public:
        explicit unwrap(outcome&& given) : given_(std::move(given)) {}
        bool ready() noexcept override {
            return !given_.is_stop() || !resumes_stop(*std::get<2>(given_.state_));
        }
        bool start() noexcept override {
            return false;
        }  // held off by a shield: seen as an exception
        bool cancel() noexcept override { return true; }
        T resume() { return std::move(given_).value(); }

    private:
        static bool resumes_stop(const detail::seen_cancellation& seen) noexcept {
            return detail::ask_again(seen.origin, seen.reason);
        }
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
            const detail::seen_cancellation& seen = *std::get<2>(state_);
            throw weir::cancelled(seen.reason, seen.origin.tag());
        }
        if (is_refused()) {
            throw weir::refused(refusal());
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
};

}  // namespace weir
