// SPDX-License-Identifier: MIT
// What the tests of streams share: random traffic, and a probe that watches what a mapping does to
// its source and its calls.
#pragma once

#include "support/schedules.hpp"

#include <weir/stream.hpp>
#include <weir/testing/testing.hpp>

#include <cstdint>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace stream_tests {

using namespace std::chrono_literals;
using weir::generator;
using weir::handle;
using weir::task;
using weir::testing::settle_all;

using schedules::dice;

// A little time: none, a turn of the loop, or some milliseconds.
inline task<> pause(dice& random) {
    return schedules::pause(random, 4);
}

struct bad_item : std::runtime_error {
    explicit bad_item(int number)
        : std::runtime_error("item " + std::to_string(number)), item(number) {}
    int item;
};
struct bad_source : std::runtime_error {
    bad_source() : std::runtime_error("the source failed") {}
};

// Watches one run.
struct probe {
    explicit probe(std::uint64_t trace = 0) : random(trace) {}

    dice random;
    int items = 0;             // that the source has
    int source_fails_at = -1;  // instead of giving this one
    int item_fails_at = -1;

    int asked = 0;  // how often the source was asked, the end included
    int taken = 0;  // results that the consumer has
    int running = 0;
    int started = 0;
    int max_running = 0;
    int max_ahead = 0;
    int sources_open = 0;
    std::vector<int> processed;  // in the order of their ends

    void ask() {
        ++asked;
        max_ahead = std::max(max_ahead, asked - taken);
    }

    generator<int> source() {
        co_await weir::defer(
            [](probe& of) -> task<> {
                co_await weir::yield();
                --of.sources_open;
            },
            std::ref(*this));
        ++sources_open;
        for (int number = 0; number < items; ++number) {
            ask();
            co_await pause(random);
            if (number == source_fails_at) {
                throw bad_source();
            }
            co_yield number;
        }
        ask();
    }

    struct inside {
        explicit inside(probe& of) : of_(of) {
            ++of_.started;
            of_.max_running = std::max(of_.max_running, ++of_.running);
        }
        inside(const inside&) = delete;
        inside& operator=(const inside&) = delete;
        ~inside() { --of_.running; }
        probe& of_;
    };

    task<int> call(int number) {
        const inside here(*this);
        co_await pause(random);
        if (number == item_fails_at) {
            throw bad_item(number);
        }
        co_await pause(random);
        processed.push_back(number);
        co_return number* number;
    }
};

}  // namespace stream_tests
