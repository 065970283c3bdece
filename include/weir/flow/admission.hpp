// SPDX-License-Identifier: MIT
// admission: let in, with a pass, or refused, with the reason.
//
//     if (auto let_in = limiter.try_acquire()) { ... } else { tell(let_in.refusal().retry_after); }
//
// Whatever can refuse has up to three forms:
//     try_acquire()          admission, at once
//     co_await admit()       admission, after waiting if that may help
//     co_await acquire()     the pass itself; throws weir::refused
#pragma once

#include <weir/refusal.hpp>

#include <type_traits>
#include <utility>
#include <variant>

namespace weir {

// Stands for the pass of something that is not given back: a token of a rate limiter.
struct no_pass {};

template <class Pass = no_pass>
class [[nodiscard]] admission {
public:
    using pass_type = Pass;

    admission(Pass pass) noexcept : state_(std::in_place_index<0>, std::move(pass)) {}  // NOLINT
    admission(const weir::refusal& why) noexcept
        : state_(std::in_place_index<1>, detail::copy_of(why)) {}  // NOLINT

    bool has_value() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }
    // Only if let in.
    Pass& pass() & noexcept { return *std::get_if<0>(&state_); }
    Pass pass() && noexcept { return std::move(*std::get_if<0>(&state_)); }
    // Only if refused.
    const weir::refusal& refusal() const noexcept { return *std::get_if<1>(&state_); }

    // The pass; throws weir::refused, naming who refused.
    Pass value(std::string_view by = {}) && {
        if (!has_value()) {
            throw refused(refusal(), by);
        }
        return std::move(*std::get_if<0>(&state_));
    }

private:
    std::variant<Pass, weir::refusal> state_;
};

}  // namespace weir
