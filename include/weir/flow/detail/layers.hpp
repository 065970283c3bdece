// SPDX-License-Identifier: MIT
// The way through a pipeline. Each stage is a `next`: called with the context, it gives something
// to await that ends as an outcome. Gates that stand side by side are one stage.
//
// Stages are bases of one another, from the innermost outwards, and share what they need, the
// policies and the call at the end: a way is two words, however long, and is copied as such.
#pragma once

#include <weir/flow/detail/gate_row.hpp>

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace weir::detail {

template <class Policies, std::size_t Index>
using policy_at = std::remove_reference_t<std::tuple_element_t<Index, Policies>>;

// The first place from Index on where there is no gate.
template <class Policies, std::size_t Index>
constexpr std::size_t end_of_gates() {
    if constexpr (Index == std::tuple_size_v<Policies>) {
        return Index;
    } else if constexpr (gate<policy_at<Policies, Index>>) {
        return end_of_gates<Policies, Index + 1>();
    } else {
        return Index;
    }
}

// Where the way ends: the user's call.
template <class Policies, class Innermost>
class way_end {
public:
    using value_type = typename Innermost::value_type;
    way_end(Policies& policies, Innermost innermost) noexcept
        : policies_(&policies), innermost_(std::move(innermost)) {}
    auto operator()(call_context& call) { return innermost_(call); }

protected:
    Policies* policies_;

private:
    Innermost innermost_;
};

template <class Policies, class Innermost, std::size_t Index>
class way;

template <class Policies, class Innermost, std::size_t Index,
          bool IsEnd = Index == std::tuple_size_v<Policies>>
struct way_from {
    using type = way<Policies, Innermost, Index>;
};
template <class Policies, class Innermost, std::size_t Index>
struct way_from<Policies, Innermost, Index, true> {
    using type = way_end<Policies, Innermost>;
};

// What comes behind the stage that begins at Index.
template <class Policies, class Innermost, std::size_t Index>
using way_behind =
    typename way_from<Policies, Innermost,
                      gate<policy_at<Policies, Index>> ? end_of_gates<Policies, Index>()
                                                       : Index + 1>::type;

template <class Policies, class Innermost, std::size_t Index>
class way : public way_behind<Policies, Innermost, Index> {
    using next = way_behind<Policies, Innermost, Index>;

public:
    using next::next;

    auto operator()(call_context& call) {
        auto& further = static_cast<next&>(*this);
        if constexpr (gate<policy_at<Policies, Index>>) {
            constexpr std::size_t count = end_of_gates<Policies, Index>() - Index;
            return through(call, further, std::make_index_sequence<count>());
        } else {
            return std::get<Index>(*this->policies_).around(call, further);
        }
    }

private:
    template <std::size_t... Offsets>
    auto through(call_context& call, next& further, std::index_sequence<Offsets...>) {
        return gates_call<next, policy_at<Policies, Index + Offsets>...>(
            call, further, std::get<Index + Offsets>(*this->policies_)...);
    }
};

}  // namespace weir::detail
