// SPDX-License-Identifier: MIT
// Runs a test body on a simulated loop, once per schedule. The first schedule is the ordinary one,
// first in first out; the others draw the order of ready tasks from seeds 1, 2, 3...

#include <weir/testing/testing.hpp>

#include <cstdlib>
#include <string>

namespace weir::testing {

namespace {

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text != nullptr && *text != '\0' ? std::strtoull(text, nullptr, 10) : otherwise;
}

task<void> run_body(task<void> (*body)()) {
    co_await body();
    if (all_tasks().size() > 1) {
        ADD_FAILURE() << "the test left tasks running:\n" << dump_tasks();
    }
}

void run_schedule(task<void> (*body)(), std::uint64_t seed) {
    loop_options options;
    options.driver = driver_kind::simulated;
    options.seed = seed;
    options.on_report = [](const report& about) {
        ADD_FAILURE() << "reported: " << to_string(about.kind) << ": " << about.message;
    };
    try {
        run(run_body(body), std::move(options));
    } catch (const cancelled& stop) {
        ADD_FAILURE() << "the test was cancelled: " << stop.reason();
    } catch (...) {
        ADD_FAILURE() << "the test threw: " << describe(std::current_exception());
    }
}

}  // namespace

void run_test(task<void> (*body)()) {
    const std::uint64_t schedules = number_from_environment("WEIR_SCHEDULES", 1);
    const bool replays = std::getenv("WEIR_SEED") != nullptr;
    const std::uint64_t first = number_from_environment("WEIR_SEED", 0);
    const std::uint64_t last = replays ? first : schedules - 1;
    for (std::uint64_t seed = first; seed <= last; ++seed) {
        run_schedule(body, seed);
        if (::testing::Test::HasFailure()) {
            std::fprintf(stderr, "weir: failed under schedule %llu; replay it with WEIR_SEED=%llu\n",
                         static_cast<unsigned long long>(seed), static_cast<unsigned long long>(seed));
            return;
        }
        if (::testing::Test::IsSkipped()) {
            return;
        }
    }
}

}  // namespace weir::testing
