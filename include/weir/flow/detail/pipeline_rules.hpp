// SPDX-License-Identifier: MIT
// Which orders of policies make sense: checked when a pipeline is compiled.
#pragma once

#include <weir/flow/policy.hpp>

#include <array>
#include <cstddef>

namespace weir::detail {

template <class... Policies>
struct pipeline_rules {
    static constexpr std::size_t count = sizeof...(Policies);
    static constexpr std::array<policy_kind, count> kinds = {Policies::kind...};

    static constexpr bool has_twins() {
        for (std::size_t i = 1; i < count; ++i) {
            if (kinds[i] == kinds[i - 1] && kinds[i] != policy_kind::custom) {
                return true;
            }
        }
        return false;
    }
    // Does one of the first kind come further out than one of the second?
    static constexpr bool is_around(policy_kind outer, policy_kind inner) {
        for (std::size_t i = 0; i < count; ++i) {
            for (std::size_t j = i + 1; j < count; ++j) {
                if (kinds[i] == outer && kinds[j] == inner) {
                    return true;
                }
            }
        }
        return false;
    }
    static constexpr bool has_inner_fallback() {
        for (std::size_t i = 1; i < count; ++i) {
            if (kinds[i] == policy_kind::fallback) {
                return true;
            }
        }
        return false;
    }

    static_assert(count > 0, "an empty pipeline does nothing: give it at least one policy");
    static_assert(
        !has_twins(),
        "two policies of one kind side by side: attempts would be multiplied, permits "
        "taken twice. Use one with the stricter settings, or combined_limiter for several rates");
    static_assert(!has_inner_fallback(),
                  "a fallback further in hides failures from the policies around it (a retry would "
                  "never retry, a breaker never open): put it first, outermost");
    static_assert(
        !is_around(policy_kind::retry, policy_kind::total_timeout),
        "a total timeout inside a retry limits one attempt only: put it outside the retry, "
        "or use attempt_timeout inside");
    static_assert(!is_around(policy_kind::hedge, policy_kind::retry),
                  "a hedge around a retry starts whole series of attempts at once: put the hedge "
                  "inside the retry");
};

}  // namespace weir::detail
