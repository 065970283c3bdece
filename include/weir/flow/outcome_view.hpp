// SPDX-License-Identifier: MIT
// outcome_view: an outcome of any type, as predicates and hooks see it.
//
//     .retry_if = [](const weir::outcome_view& ended) {
//         const response* got = ended.value<response>();
//         return ended.error<connection_lost>() || (got && got->status == 503);
//     }
//
// Where only the types of errors matter:
//
//     .retry_if = weir::error_is<connection_lost, weir::timed_out>
#pragma once

#include <weir/outcome.hpp>

#include <exception>
#include <type_traits>

namespace weir {

namespace detail {

// Stands for a type by its address, also where the compiler was told to leave out typeid.
template <class T>
inline constinit char type_key = 0;

}  // namespace detail

class outcome_view {
public:
    template <class T>
    outcome_view(const outcome<T>& seen) noexcept  // NOLINT: implicit, it is a view
        : type_(&detail::type_key<T>) {
        if (seen.has_value()) {
            if constexpr (std::is_void_v<T>) {
                value_ = this;
            } else {
                value_ = &seen.value();
            }
        } else if (seen.is_refused()) {
            refusal_ = &seen.refusal();
        } else if (seen.has_error()) {
            error_ = &seen.stored_error();
        }
    }

    bool has_value() const noexcept { return value_ != nullptr; }
    // A failure of the work itself: neither a refusal nor a cancellation.
    bool has_error() const noexcept { return error_ != nullptr; }
    bool is_refused() const noexcept { return refusal_ != nullptr; }
    // Ended with another task's cancellation. Policies neither retry nor count it.
    bool is_cancelled() const noexcept { return !has_value() && !has_error() && !is_refused(); }

    // The value if it is of exactly this type; null otherwise.
    template <class T>
    const T* value() const noexcept {
        return has_value() && type_ == &detail::type_key<std::remove_cv_t<T>>
                   ? static_cast<const T*>(value_)
                   : nullptr;
    }
    // The error if a handler for this type would catch it; null otherwise.
    template <class Error>
    const Error* error() const {
        if (error_ == nullptr) {
            return nullptr;
        }
        try {
            std::rethrow_exception(*error_);
        } catch (const Error& found) {
            return &found;
        } catch (...) {
            return nullptr;
        }
    }
    std::exception_ptr error_ptr() const noexcept { return has_error() ? *error_ : nullptr; }
    // Null unless refused.
    const weir::refusal* refusal() const noexcept { return refusal_; }

private:
    const void* type_;
    const void* value_ = nullptr;
    const std::exception_ptr* error_ = nullptr;
    const weir::refusal* refusal_ = nullptr;
};

// A predicate of options such as retry_if: the outcome is an error that a handler for one of these
// types would catch. A refusal counts as weir::refused, which throws it.
template <class... Errors>
inline constexpr auto error_is = [](const outcome_view& ended) -> bool {
    static_assert(sizeof...(Errors) > 0, "error_is<...>: name the types of the errors");
    return ((ended.error<Errors>() != nullptr ||
             (std::is_base_of_v<Errors, refused> && ended.is_refused())) ||
            ...);
};

}  // namespace weir
