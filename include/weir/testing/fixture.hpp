// SPDX-License-Identifier: MIT
// Fixtures for WEIR_TEST_F.
#pragma once

#include <weir/finally.hpp>
#include <weir/task.hpp>
#include <weir/testing/explore.hpp>

#include <gtest/gtest.h>

#include <concepts>

namespace weir::testing {

// The generated class of a test derives from this. A fixture is any class with a default
// constructor. One object is made for every schedule, inside the running loop, so that no schedule
// sees what another left. It may have coroutines set_up() and tear_down(); GoogleTest fixtures with
// SetUp() and TearDown() work too. The tear-down runs however the test ends.
template <class Fixture>
class fixture_of : public Fixture {
public:
    virtual task<void> weir_body() = 0;
    void TestBody() {}  // where Fixture is a ::testing::Test

    task<void> weir_set_up() {
        if constexpr (requires(fixture_of& self) { self.SetUp(); }) {
            this->SetUp();
        }
        if constexpr (requires(fixture_of& self) {
                          { self.set_up() } -> std::same_as<task<void>>;
                      }) {
            co_await this->set_up();
        }
        co_return;
    }
    task<void> weir_tear_down() {
        if constexpr (requires(fixture_of& self) {
                          { self.tear_down() } -> std::same_as<task<void>>;
                      }) {
            co_await this->tear_down();
        }
        if constexpr (requires(fixture_of& self) { self.TearDown(); }) {
            this->TearDown();
        }
        co_return;
    }
};

template <class Made>
task<void> run_fixture() {
    Made made;
    co_await made.weir_set_up();
    if (::testing::Test::HasFatalFailure() || ::testing::Test::IsSkipped()) {
        co_return;
    }
    auto take_down = [&made]() -> task<void> { return made.weir_tear_down(); };
    co_await finally(made.weir_body(), take_down);
}

}  // namespace weir::testing
