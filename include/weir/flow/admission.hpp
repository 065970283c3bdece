// SPDX-License-Identifier: MIT
// admission: a pass, or a refusal with its reason.
//
//     if (auto admitted = limiter.try_acquire(); !admitted) {
//         retry_after(admitted.refusal().retry_after);
//     }
//
// A primitive that can refuse has up to three forms:
//     try_acquire()          an admission, without waiting
//     co_await admit()       an admission, after a wait if that helps
//     co_await acquire()     the pass itself; throws weir::refused
#pragma once

#include <weir/clock.hpp>
#include <weir/refusal.hpp>

#include <type_traits>
#include <utility>
#include <variant>

namespace weir {

// The pass of a primitive that takes nothing back.
struct no_pass {};

// The pass of a rate limiter, whose tokens are not given back.
struct let_through {
    clock::duration waited{};  // before it was admitted
};

namespace detail {
// Why a request is refused whose wait would be too long: because of the deadline around the caller,
// or because of the latest time that the component itself allows.
constexpr refusal_reason late_reason(clock::time_point deadline,
                                     clock::time_point latest) noexcept {
    return deadline < latest ? refusal_reason::past_deadline : refusal_reason::wait_too_long;
}
}  // namespace detail

template <class Pass = no_pass>
class [[nodiscard]] admission {
public:
    using pass_type = Pass;

    admission(Pass pass) noexcept : state_(std::in_place_index<0>, std::move(pass)) {}  // NOLINT
    admission(const weir::refusal& why) noexcept
        : state_(std::in_place_index<1>, detail::copy_of(why)) {}  // NOLINT

    bool has_value() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }
    // Requires has_value().
    Pass& pass() & noexcept { return *std::get_if<0>(&state_); }
    Pass pass() && noexcept { return std::move(*std::get_if<0>(&state_)); }
    // Requires !has_value().
    const weir::refusal& refusal() const noexcept { return *std::get_if<1>(&state_); }

    // The pass. Throws weir::refused with the name of the refusing primitive.
    Pass value(std::string_view name = {}) && {
        if (!has_value()) {
            throw refused(refusal(), name);
        }
        return std::move(*std::get_if<0>(&state_));
    }

private:
    std::variant<Pass, weir::refusal> state_;
};

}  // namespace weir
