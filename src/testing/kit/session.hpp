// SPDX-License-Identifier: MIT
// One run of a test body under one schedule.
#pragma once

#include "core/debug/explorer.hpp"

#include <weir/testing/explore.hpp>
#include <weir/testing/reports.hpp>

#include <string>
#include <vector>

namespace weir {
class loop;
struct report;
}  // namespace weir

namespace weir::testing {

class session {
public:
    enum class tracing : unsigned char { off, kept, printed };

    session(std::uint64_t seed, const explore_options& options, tracing trace);
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session();

    // The session that runs on this thread; null if none does.
    static session* current() noexcept;

    // Runs the body to its end. Problems become failures of the running GoogleTest test.
    void run(const test_body& body);

    void expect(report_kind kind, std::string_view text, std::size_t least, std::size_t most);
    const std::vector<seen_report>& reports() const noexcept { return reports_; }
    void note(std::string_view line);
    void in_ordinary_order() noexcept;
    void once_is_enough() noexcept { once_ = true; }
    bool is_enough() const noexcept { return once_; }

    std::uint64_t seed() const noexcept { return seed_; }
    const char* schedule_name() const noexcept { return schedule_name_; }
    std::uint64_t steps() const noexcept { return steps_; }
    std::uint64_t fingerprint() const noexcept { return fingerprint_; }
    std::vector<std::string>& trace() noexcept { return trace_; }

private:
    struct expectation {
        report_kind kind;
        std::string text;
        std::size_t least;
        std::size_t most;
        std::size_t seen = 0;
    };

    void run_on(loop& fresh, const test_body& body);
    void receive(const report& about);
    void check_expectations() const;
    void watch_steps(loop& running, weir::detail::explorer& explores);
    static task<void> run_body(const test_body& body);

    std::uint64_t seed_;
    explore_options options_;
    tracing tracing_;
    session* outer_;
    weir::detail::explorer* explores_ = nullptr;  // while the loop lives
    const char* schedule_name_ = "";
    bool once_ = false;
    std::uint64_t steps_ = 0;
    std::uint64_t fingerprint_ = 0;
    std::vector<expectation> expectations_;
    std::vector<seen_report> reports_;
    std::vector<std::string> trace_;
};

// Has a crash of the process name the schedule; null: none runs.
void note_seed_for_crashes(const std::uint64_t* seed) noexcept;

}  // namespace weir::testing
