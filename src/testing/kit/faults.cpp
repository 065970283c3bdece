// SPDX-License-Identifier: MIT
// For each kind of fault, run number n injects at the nth point where that kind can be. A run that
// comes to its end before has fewer points: then all have been tried. Runs with the same schedule
// are equal up to the point of the fault, so no point is passed over.

#include "testing/kit/session.hpp"

#include <weir/detail/fiber.hpp>
#include <weir/error.hpp>
#include <weir/run.hpp>
#include <weir/spawn.hpp>
#include <weir/testing/faults.hpp>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <exception>

namespace weir::testing {

namespace {

int error_at(io_point at) noexcept {
    switch (at) {
        case io_point::connect:
            return ECONNREFUSED;
        case io_point::accept:
            return EMFILE;
        case io_point::write:
            return EPIPE;
        default:
            return ECONNRESET;
    }
}

class counting_injector final : public weir::detail::fault_injector {
public:
    counting_injector(const fault_options& options, std::optional<fault_kind> kind,
                      std::uint64_t number)
        : options_(options), kind_(kind), chosen_(number) {}

    weir::detail::fault_answer at(io_point at, const char* name, bool may_stop) noexcept override {
        ++points_;
        if (!applies(at, may_stop) || ++candidates_ != chosen_) {
            return {};
        }
        fault_ = injected{*kind_, at, points_, name};
        if (session* running = session::current()) {
            running->note("fault at " + fault_->text());
        }
        switch (*kind_) {
            case fault_kind::error:
                return {.error = error_at(at)};
            case fault_kind::cut_short:
                return {.cut_short = true};
            case fault_kind::stop:
                weir::detail::cancel_fiber(*weir::detail::this_thread.running, "injected");
                return {.stops =
                            weir::detail::this_thread.running->has(weir::detail::stop_pending)};
        }
        return {};
    }

    void begin_run() noexcept {
        points_ = candidates_ = 0;
        fault_.reset();
    }
    const std::optional<injected>& fault() const noexcept { return fault_; }
    std::uint64_t points() const noexcept { return points_; }

private:
    bool applies(io_point at, bool may_stop) const noexcept {
        if (!kind_.has_value() ||
            (!options_.only.empty() &&
             std::find(options_.only.begin(), options_.only.end(), at) == options_.only.end())) {
            return false;
        }
        switch (*kind_) {
            case fault_kind::error:
                return at != io_point::timer;
            case fault_kind::cut_short:
                return at == io_point::read || at == io_point::write || at == io_point::timer;
            case fault_kind::stop:
                return may_stop && weir::detail::this_thread.running != nullptr;
        }
        return false;
    }

    const fault_options& options_;
    std::optional<fault_kind> kind_;
    std::uint64_t chosen_;
    std::uint64_t points_ = 0;
    std::uint64_t candidates_ = 0;
    std::optional<injected> fault_;
};

thread_local counting_injector* active_injector = nullptr;

// While the body runs; its loop's shutdown has no faults.
class injecting {
public:
    explicit injecting(counting_injector& injector) noexcept {
        injector.begin_run();
        active_injector = &injector;
        weir::detail::this_thread.faults = &injector;
    }
    injecting(const injecting&) = delete;
    injecting& operator=(const injecting&) = delete;
    ~injecting() {
        weir::detail::this_thread.faults = nullptr;
        active_injector = nullptr;
    }
};

bool blames_the_program(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::logic_error&) {
        return true;
    } catch (const error_group& several) {
        return std::any_of(several.errors().begin(), several.errors().end(), blames_the_program);
    } catch (...) {
        return false;
    }
}

task<void> run_with_faults(const test_body& body, counting_injector& injector) {
    const injecting now(injector);
    const handle<void> running = spawn(body(), {.name = "body"});
    co_await running.wait();
    const bool was_injected = injector.fault().has_value();
    if (running.cancelled()) {
        const bool was_stop = was_injected && injector.fault()->kind == fault_kind::stop;
        EXPECT_TRUE(was_stop) << "the body was cancelled: " << running.reason();
    } else if (const std::exception_ptr error = running.error();
               error != nullptr && (!was_injected || blames_the_program(error))) {
        ADD_FAILURE() << "the body threw: " << describe(error);
    }
}

const char* describe_kind(fault_kind kind) noexcept {
    switch (kind) {
        case fault_kind::error:
            return "error";
        case fault_kind::cut_short:
            return "cut short";
        case fault_kind::stop:
            return "stop";
    }
    return "fault";
}

// On a real loop: its failures, as those of an exploration.
std::vector<std::string> run_on_driver(const test_body& body, const fault_options& options,
                                       counting_injector& injector) {
    std::vector<std::string> messages;
    ::testing::TestPartResultArray parts;
    {
        const ::testing::ScopedFakeTestPartResultReporter taken_away(
            ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &parts);
        auto limited = [&]() -> task<void> {  // by a callback: a timeout would be a point
            const handle<void> running = spawn(run_with_faults(body, injector));
            auto limit = loop::current().call_later(options.most_time,
                                                    [&running] { running.cancel("most_time"); });
            co_await running.wait();
            limit.cancel();
            EXPECT_FALSE(running.cancelled()) << "the body has not ended within most_time";
        };
        try {
            loop_options on;
            on.driver = *options.driver;
            run(limited(), std::move(on));
        } catch (...) {
            messages.push_back("the run threw: " + describe(std::current_exception()));
        }
    }
    for (int index = 0; index < parts.size(); ++index) {
        if (parts.GetTestPartResult(index).failed()) {
            messages.emplace_back(parts.GetTestPartResult(index).message());
        }
    }
    return messages;
}

// One run. True: go on with the next point.
bool run_one(const test_body& body, const fault_options& options, std::uint64_t seed,
             std::optional<fault_kind> kind, std::uint64_t number, fault_exploration& found) {
    counting_injector injector(options, kind, number);
    exploration result;
    if (options.driver.has_value()) {
        result.messages = run_on_driver(body, options, injector);
        result.failed = !result.messages.empty();
    } else {
        result = explore([&] { return run_with_faults(body, injector); },
                         {.schedules = 1, .first_seed = seed, .most_steps = options.most_steps});
    }
    ++found.runs;
    if (!kind.has_value()) {
        found.points = injector.points();
    }
    if (result.failed) {
        found.failed = true;
        found.fault = injector.fault();
        found.seed = seed;
        found.messages = result.messages;
    }
    return !result.failed && injector.fault().has_value();
}

}  // namespace

std::string injected::text() const {
    return "point " + std::to_string(number) + " (" + name + "): " + describe_kind(kind);
}

std::string fault_exploration::text() const {
    std::string whole = fault.has_value() ? "with a fault at " + fault->text() : "without a fault";
    whole += ", schedule " + std::to_string(seed) + ", run " + std::to_string(runs) + "\n";
    for (const std::string& each : messages) {
        whole += each + "\n";
    }
    return whole;
}

fault_exploration explore_faults(const test_body& body, const fault_options& options) {
    fault_exploration found;
    std::vector<fault_kind> kinds;
    for (const auto& [wanted, kind] : {std::pair{options.errors, fault_kind::error},
                                       std::pair{options.cuts, fault_kind::cut_short},
                                       std::pair{options.stops, fault_kind::stop}}) {
        if (wanted) {
            kinds.push_back(kind);
        }
    }
    const std::uint64_t schedules = options.driver.has_value() ? 1 : options.schedules;
    for (std::uint64_t seed = 0; seed < schedules && !found.failed; ++seed) {
        run_one(body, options, seed, std::nullopt, 0, found);
        for (auto kind = kinds.begin(); kind != kinds.end() && !found.failed; ++kind) {
            std::uint64_t number = 1;
            while (run_one(body, options, seed, *kind, number, found)) {
                if (++number > options.most_points) {
                    found.failed = true;
                    found.messages.push_back("more than " + std::to_string(options.most_points) +
                                             " points: the body has no end, or most_points is "
                                             "too low");
                    break;
                }
            }
        }
    }
    return found;
}

std::uint64_t expect_no_fault_breaks(const test_body& body, const fault_options& options) {
    const fault_exploration found = explore_faults(body, options);
    EXPECT_FALSE(found.failed) << found.text();
    EXPECT_TRUE(found.failed || found.points > 0) << "the body has no point for a fault";
    return found.runs;
}

std::optional<injected> injected_fault() {
    return active_injector != nullptr ? active_injector->fault() : std::nullopt;
}

}  // namespace weir::testing
