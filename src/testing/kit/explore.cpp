// SPDX-License-Identifier: MIT
// Runs bodies under many schedules. explore() takes GoogleTest's results away from the running test
// and keeps them; run_test() lets them through, and names the seed when one has failed.

#include "testing/kit/session.hpp"

#include <weir/error.hpp>
#include <weir/loop.hpp>
#include <weir/testing/explore.hpp>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

namespace weir::testing {

namespace {

struct schedule_result {
    std::vector<std::string> messages;  // empty: passed
    std::vector<std::string> trace;
    std::uint64_t fingerprint = 0;
};

std::string describe_result(const ::testing::TestPartResult& part) {
    std::string place;
    if (part.file_name() != nullptr) {
        place = std::string(part.file_name()) + ":" + std::to_string(part.line_number()) + ": ";
    }
    return place + part.message();
}

schedule_result run_quietly(const test_body& body, std::uint64_t seed,
                            const explore_options& options, session::tracing trace) {
    schedule_result result;
    ::testing::TestPartResultArray parts;
    {
        ::testing::ScopedFakeTestPartResultReporter taken_away(
            ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &parts);
        session one(seed, options, trace);
        one.run(body);
        result.trace = std::move(one.trace());
        result.fingerprint = one.fingerprint();
    }
    for (int index = 0; index < parts.size(); ++index) {
        if (parts.GetTestPartResult(index).failed()) {
            result.messages.push_back(describe_result(parts.GetTestPartResult(index)));
        }
    }
    return result;
}

void check_no_loop(const char* what) {
    if (loop::current_or_null() != nullptr) {
        throw loop_error(std::string(what) +
                         ": a loop is running on this thread already; use TEST, not WEIR_TEST");
    }
}

std::optional<std::uint64_t> number_from_environment(const char* name) {
    const char* text = std::getenv(name);
    if (text == nullptr || *text == '\0') {
        return std::nullopt;
    }
    char* end = nullptr;
    errno = 0;
    const std::uint64_t number = std::strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || *text == '-') {
        throw invalid_argument(std::string(name) + "='" + text + "': not a number");
    }
    return number;
}

}  // namespace

std::string exploration::text() const {
    std::string whole;
    for (const std::string& each : messages) {
        whole += each + "\n";
    }
    return whole;
}

exploration explore(const test_body& body, const explore_options& options) {
    check_no_loop("explore");
    exploration found;
    for (std::uint64_t seed = options.first_seed; found.schedules_run < options.schedules; ++seed) {
        schedule_result result = run_quietly(body, seed, options, session::tracing::off);
        ++found.schedules_run;
        if (result.messages.empty()) {
            continue;
        }
        schedule_result again = run_quietly(body, seed, options, session::tracing::kept);
        found.failed = true;
        found.seed = seed;
        found.messages = std::move(result.messages);
        found.trace = std::move(again.trace);
        found.reproducible = !again.messages.empty() && again.fingerprint == result.fingerprint;
        break;
    }
    return found;
}

exploration replay(const test_body& body, std::uint64_t seed, const explore_options& options) {
    check_no_loop("replay");
    schedule_result result = run_quietly(body, seed, options, session::tracing::kept);
    exploration found;
    found.schedules_run = 1;
    found.seed = seed;
    found.failed = !result.messages.empty();
    found.messages = std::move(result.messages);
    found.trace = std::move(result.trace);
    return found;
}

void run_test(const test_body& body) {
    const std::optional<std::uint64_t> replayed = number_from_environment("WEIR_SEED");
    const std::uint64_t schedules =
        replayed ? 1 : number_from_environment("WEIR_SCHEDULES").value_or(1);
    const bool traced = number_from_environment("WEIR_TRACE").value_or(0) != 0;
    const auto trace = traced ? session::tracing::printed : session::tracing::off;
    explore_options options;
    options.most_steps = 100'000'000;
    for (std::uint64_t seed = replayed.value_or(0), left = schedules; left > 0; ++seed, --left) {
        session one(seed, options, trace);
        one.run(body);
        if (::testing::Test::HasFailure()) {
            std::fprintf(stderr,
                         "weir: failed under schedule %llu (%s) after %llu steps; replay it with "
                         "WEIR_SEED=%llu\n",
                         static_cast<unsigned long long>(seed), one.schedule_name(),
                         static_cast<unsigned long long>(one.steps()),
                         static_cast<unsigned long long>(seed));
            return;
        }
        if (::testing::Test::IsSkipped() || one.is_enough()) {
            return;
        }
    }
}

}  // namespace weir::testing
