// SPDX-License-Identifier: MIT
// Checks links, and draws random ones: each fault is on for half of the seeds, so that faults occur
// alone and together.

#include "testing/io/network_core.hpp"

#include <weir/error.hpp>

#include <string>

namespace weir::testing {

namespace sim {

namespace {

[[noreturn]] void throw_bad_link_option(const char* option, const std::string& value,
                                        const char* must_be) {
    throw invalid_argument(std::string("simulated_network: ") + option + " is " + value +
                           "; it must be " + must_be);
}

void check_chance(const char* option, double value) {
    if (!(value >= 0 && value <= 1)) {
        throw_bad_link_option(option, std::to_string(value), "between 0 and 1");
    }
}

void check_time(const char* option, clock::duration value) {
    if (value < clock::duration::zero() || value > std::chrono::hours(24)) {
        throw_bad_link_option(option, std::to_string(value.count()) + "ns", "between 0 and a day");
    }
}

void check_size(const char* option, std::size_t value) {
    if (value == 0) {
        throw_bad_link_option(option, "0", "at least 1");
    }
}

}  // namespace

void check(const link_options& options) {
    check_time("latency", options.latency);
    check_time("jitter", options.jitter);
    check_time("stall", options.stall);
    check_size("window", options.window);
    check_size("segment", options.segment);
    if (!(options.bandwidth >= 0 && options.bandwidth < 1e18) ||
        (options.bandwidth > 0 && options.bandwidth < 1e-3)) {
        throw_bad_link_option("bandwidth", std::to_string(options.bandwidth),
                              "0, or at least 0.001");
    }
    check_chance("short_reads", options.short_reads);
    check_chance("splits", options.splits);
    check_chance("stalls", options.stalls);
    check_chance("resets", options.resets);
    check_chance("refusals", options.refusals);
    check_chance("silences", options.silences);
}

}  // namespace sim

link_options link_options::drawn_from(std::uint64_t seed) {
    sim::random_source random(seed ^ 0x7765697221U);
    const auto is_on = [&random] { return random.below(2) == 1; };
    link_options drawn;
    if (is_on()) {
        drawn.latency = std::chrono::microseconds(1 + random.below(50'000));
    }
    if (is_on()) {
        drawn.jitter = std::chrono::microseconds(1 + random.below(20'000));
    }
    if (is_on()) {
        drawn.bandwidth = 1000.0 * static_cast<double>(1 + random.below(10'000));
    }
    if (is_on()) {
        drawn.window = 1 + random.below(is_on() ? 64 : 8192);
    }
    if (is_on()) {
        drawn.segment = 1 + random.below(is_on() ? 16 : 1460);
    }
    if (is_on()) {
        drawn.short_reads = static_cast<double>(1 + random.below(100)) / 100;
    }
    if (is_on()) {
        drawn.splits = static_cast<double>(1 + random.below(100)) / 100;
    }
    if (is_on()) {
        drawn.stalls = static_cast<double>(1 + random.below(20)) / 100;
        drawn.stall = std::chrono::milliseconds(1 + random.below(2000));
    }
    return drawn;
}

}  // namespace weir::testing
