// SPDX-License-Identifier: MIT
// The fixed window by example.

#include "support.hpp"

#include <weir/flow/decision/locked.hpp>
#include <weir/flow/fixed_window.hpp>
#include <weir/flow/leaky_bucket.hpp>
#include <weir/flow/pipeline.hpp>
#include <weir/flow/prometheus.hpp>
#include <weir/flow/sliding_window.hpp>
#include <weir/flow/token_bucket.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

namespace {

using namespace limiter_tests;

static_assert(weir::waiting_gate<weir::sliding_window>);
static_assert(weir::waiting_gate<weir::sliding_window_counter>);
static_assert(weir::waiting_gate<weir::fixed_window>);
static_assert(weir::waiting_gate<weir::leaky_bucket>);

WEIR_TEST(FixedWindow, BeginsAgain) {
    weir::fixed_window window({.limit = 2, .window = 10s});
    const auto begin = weir::now();
    for (int i = 0; i < 7; ++i) {
        co_await window.acquire();
        EXPECT_EQ(weir::now() - begin, i / 2 * 10s);
    }
}

}  // namespace
