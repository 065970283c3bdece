// SPDX-License-Identifier: MIT
// run(fn) and settle(fn) of a gate that may make calls wait.
#pragma once

#include <weir/flow/detail/kept_callable.hpp>
#include <weir/flow/detail/layers.hpp>

namespace weir::detail {

template <class Gate, class Kept, class T = call_value_t<std::remove_reference_t<Kept>>>
task<outcome<T>> settle_behind(Gate* gate, Kept fn, double weight) {
    call_context call(gate->name(), weight);
    innermost<std::remove_reference_t<Kept>> next(fn);
    co_return co_await through_gate(*gate, call, next);
}
template <class Gate, class Kept, class T = call_value_t<std::remove_reference_t<Kept>>>
task<T> run_behind(Gate* gate, Kept fn, double weight) {
    call_context call(gate->name(), weight);
    innermost<std::remove_reference_t<Kept>> next(fn);
    outcome<T> ended = co_await through_gate(*gate, call, next);
    co_return value_of(std::move(ended), gate->name());
}

}  // namespace weir::detail
