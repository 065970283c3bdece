// SPDX-License-Identifier: MIT
// Shared by the tests of streams: random traffic, and a probe that records how a mapping reads its
// source and runs its calls.
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

// Waits for a random time: none, a turn of the loop, or a few milliseconds.
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

// Records one run.
struct probe {
    explicit probe(std::uint64_t trace = 0) : random(trace) {}

    dice random;
    int items = 0;             // number of items of the source
    int source_fails_at = -1;  // instead of yielding this item
    int item_fails_at = -1;

    int reads = 0;  // of the source, including the one that finds the end
    int taken = 0;  // results taken by the consumer
    int running = 0;
    int started = 0;
    int max_running = 0;
    int max_ahead = 0;
    int sources_open = 0;
    std::vector<int> processed;  // in the order of their ends

    void note_read() {
        ++reads;
        max_ahead = std::max(max_ahead, reads - taken);
    }

    generator<int> source() {
        co_await weir::defer(
            [](probe& self) -> task<> {
                co_await weir::yield();
                --self.sources_open;
            },
            std::ref(*this));
        ++sources_open;
        for (int number = 0; number < items; ++number) {
            note_read();
            co_await pause(random);
            if (number == source_fails_at) {
                throw bad_source();
            }
            co_yield number;
        }
        note_read();
    }

    struct inside {
        explicit inside(probe& observer) : observer_(observer) {
            ++observer_.started;
            observer_.max_running = std::max(observer_.max_running, ++observer_.running);
        }
        inside(const inside&) = delete;
        inside& operator=(const inside&) = delete;
        ~inside() { --observer_.running; }
        probe& observer_;
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
