// SPDX-License-Identifier: MIT
// Runs a body on a simulated loop whose order of ready tasks comes from a seed, and turns problems
// outside of the body's own expectations into failures: an exception, a deadlock, tasks left
// running, an unexpected report, an expected report that is missing, steps without end.

#include "testing/kit/session.hpp"

#include "base/source_place.hpp"
#include "core/loop/loop_state.hpp"
#include "core/runtime/fiber_extras.hpp"

#include <weir/cancel.hpp>
#include <weir/detail/promise.hpp>
#include <weir/run.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

namespace weir::testing {

namespace {

thread_local session* running_session = nullptr;

constexpr std::size_t longest_trace = 100'000;

std::string file_name(const char* path) {
    const std::string whole = path;
    return whole.substr(whole.rfind('/') + 1);
}

// Failures without an expectation of their own are reported at the location of the test.
const char* test_file() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    return test != nullptr ? test->file() : __FILE__;
}
int test_line() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    return test != nullptr ? test->line() : __LINE__;
}

// One line of the trace: the task that the step resumes, and where.
std::string describe_step(std::uint64_t step, std::uint32_t number,
                          const weir::detail::ready_item& item) {
    const std::string prefix = "step " + std::to_string(step) + ": ";
    if (number == 0) {
        return prefix + "a callback";
    }
    const auto& chosen = static_cast<const weir::detail::fiber&>(item);
    std::string text = prefix + "task " + std::to_string(number);
    if (chosen.extras != nullptr && !chosen.extras->name.empty()) {
        text += " '" + chosen.extras->name + "'";
    }
    if (chosen.has(weir::detail::stop_pending)) {
        text += ", a stop is due";
    }
    if (chosen.top->is_boundary()) {
        return text + ", in " + chosen.top->table().name;
    }
    const auto& where = static_cast<const weir::detail::promise_base&>(*chosen.top).here;
    if (where.line() == 0) {
        return text + ", starts";
    }
    return text + ", " + weir::detail::plain_function_name(where.function_name()) + " at " +
           file_name(where.file_name()) + ":" + std::to_string(where.line());
}

}  // namespace

session::session(std::uint64_t seed, const explore_options& options, tracing trace)
    : seed_(seed), options_(options), tracing_(trace), outer_(running_session) {
    running_session = this;
    note_seed_for_crashes(&seed_);
}

session::~session() {
    running_session = outer_;
    note_seed_for_crashes(outer_ != nullptr ? &outer_->seed_ : nullptr);
}

session* session::current() noexcept {
    return running_session;
}

task<void> session::run_body(const test_body& body) {
    current_task().set_name("test");
    co_await body();
    if (all_tasks().size() > 1) {
        ADD_FAILURE_AT(test_file(), test_line()) << "the test left tasks running:\n"
                                                 << dump_tasks();
    }
}

void session::run(const test_body& body) {
    loop_options options;
    options.driver = driver_kind::simulated;
    if (options_.debug) {
        options.debug = true;
    }
    options.on_report = [this](const report& about) { receive(about); };
    {
        loop fresh(std::move(options));
        run_on(fresh, body);
        steps_ = explores_->steps();
        fingerprint_ = explores_->fingerprint();
    }
    explores_ = nullptr;
    check_expectations();
}

void session::run_on(loop& fresh, const test_body& body) {
    explores_ = &fresh.state().turns.explore(seed_);
    schedule_name_ = explores_->name();
    watch_steps(fresh, *explores_);
    try {
        fresh.run(run_body(body));
    } catch (const cancelled& stop) {
        ADD_FAILURE_AT(test_file(), test_line())
            << "the test was cancelled" << (stop.reason().empty() ? "" : ": " + stop.reason());
    } catch (const stopped_early&) {
        ADD_FAILURE_AT(test_file(), test_line())
            << "the test was stopped"
            << (explores_->steps() >= options_.most_steps
                    ? " after " + std::to_string(options_.most_steps) +
                          " steps: a livelock, or most_steps is too low"
                    : std::string(" by loop.stop()"));
    } catch (const deadlock& stuck) {
        ADD_FAILURE_AT(test_file(), test_line()) << stuck.what();
    } catch (...) {
        ADD_FAILURE_AT(test_file(), test_line())
            << "the test threw: " << describe(std::current_exception());
    }
}

void session::watch_steps(loop& running, weir::detail::explorer& explores) {
    explores.most_steps = options_.most_steps;
    explores.on_too_many_steps = [this, &running, &explores] {
        note("no end after " + std::to_string(options_.most_steps) + " steps:\n" +
             running.dump_tasks());
        running.stop();
        // If it continues nevertheless, behind a shield, ending the process is the only option
        // left.
        explores.most_steps = 2 * options_.most_steps;
        explores.on_too_many_steps = [&running] {
            std::fprintf(stderr, "weir: the test does not end, and cannot be stopped:\n%s",
                         running.dump_tasks().c_str());
            std::abort();
        };
    };
    if (tracing_ != tracing::off) {
        explores.on_step = [this](std::uint64_t step, std::uint32_t number,
                                  weir::detail::ready_item& item) {
            note(describe_step(step, number, item));
        };
    }
}

void session::note(std::string_view line) {
    if (tracing_ == tracing::printed) {
        std::fprintf(stderr, "weir: %.*s\n", static_cast<int>(line.size()), line.data());
    } else if (tracing_ == tracing::kept && trace_.size() < longest_trace) {
        trace_.emplace_back(line);
    }
}

void session::in_ordinary_order() noexcept {
    if (explores_ != nullptr) {
        explores_->become_ordinary();
    }
}

void session::expect(report_kind kind, std::string_view text, std::size_t least, std::size_t most) {
    expectations_.push_back({kind, std::string(text), least, most});
}

void session::receive(const report& about) {
    reports_.push_back({about.kind, about.message});
    note(std::string("reported: ") + std::string(to_string(about.kind)) + ": " + about.message);
    for (expectation& each : expectations_) {
        if (each.kind == about.kind && each.seen < each.most &&
            about.message.find(each.text) != std::string::npos) {
            ++each.seen;
            return;
        }
    }
    ADD_FAILURE_AT(test_file(), test_line())
        << "reported: " << to_string(about.kind) << ": " << about.message
        << (about.created.empty() ? "" : "\n  spawned at " + about.created);
}

void session::check_expectations() const {
    for (const expectation& each : expectations_) {
        if (each.seen < each.least) {
            ADD_FAILURE_AT(test_file(), test_line())
                << "expected " << each.least << " report(s) '" << to_string(each.kind) << "'"
                << (each.text.empty() ? "" : " with '" + each.text + "'") << ", saw " << each.seen;
        }
    }
}

// ---- what tests call ---------------------------------------------------------------------------

namespace {

session& need_session(const char* what) {
    if (running_session == nullptr) {
        throw invalid_state(std::string(what) + ": no test of the kit runs on this thread");
    }
    return *running_session;
}

}  // namespace

void expect_report(report_kind kind, std::string_view text, std::size_t times) {
    need_session("expect_report").expect(kind, text, times, times);
}

void allow_report(report_kind kind, std::string_view text) {
    need_session("allow_report").expect(kind, text, 0, SIZE_MAX);
}

const std::vector<seen_report>& reports() {
    return need_session("reports").reports();
}

void note(std::string_view line) {
    if (running_session != nullptr) {
        running_session->note(line);
    }
}

void in_ordinary_order() {
    need_session("in_ordinary_order").in_ordinary_order();
}

void once_is_enough() {
    need_session("once_is_enough").once_is_enough();
}

std::uint64_t current_seed() noexcept {
    return running_session != nullptr ? running_session->seed() : 0;
}

}  // namespace weir::testing
