// SPDX-License-Identifier: MIT
// retry_budget: how much extra work all retries and hedges together may cause.
//
//     weir::retry_budget budget({.ratio = 0.1});       // or token_budget{}, in_flight_budget{}
//     weir::retry_policy again({.max_attempts = 3, .budget = &budget});
//     weir::hedge_policy twice({.delay = 50ms, .budget = &budget});
//
// A dependency that is down gets every call several times from clients that retry, just when it can
// bear it least. A budget shared by all of them keeps that to a part of the ordinary traffic.
// It must outlive the policies that use it, and belongs to their loop.
#pragma once

#include <weir/flow/decision/retry_budget_decision.hpp>
#include <weir/flow/telemetry.hpp>
#include <weir/refusal.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace weir {

struct retry_budget_stats {
    std::uint64_t calls = 0;    // first attempts
    std::uint64_t spent = 0;    // extra attempts let through
    std::uint64_t refused = 0;  // extra attempts not let through
    std::uint64_t calls_in_flight = 0;
    std::uint64_t extra_in_flight = 0;
};

class retry_budget {
public:
    // Throw invalid_argument for options that make no sense. The name is for metrics.
    explicit retry_budget(const ratio_budget& options = {}, std::string_view name = {})
        : kind_(decision::ratio_budget(options)), name_(name) {}
    explicit retry_budget(const token_budget& options, std::string_view name = {})
        : kind_(decision::token_budget(options)), name_(name) {}
    explicit retry_budget(const in_flight_budget& options, std::string_view name = {})
        : kind_(decision::in_flight_budget(options)), name_(name) {}
    retry_budget(const retry_budget&) = delete;
    retry_budget& operator=(const retry_budget&) = delete;

    // A call, as long as it lives. Empty ones do nothing.
    class [[nodiscard]] call {
    public:
        call() noexcept = default;
        call(call&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
        call& operator=(call&& other) noexcept {
            call old(std::move(*this));
            of_ = std::exchange(other.of_, nullptr);
            return *this;
        }
        ~call() {
            if (of_ != nullptr) {
                of_->call_ends();
            }
        }

    private:
        friend retry_budget;
        explicit call(retry_budget& of) noexcept : of_(&of) {}
        retry_budget* of_ = nullptr;
    };
    // An extra attempt, from the decision to make it until its end.
    class [[nodiscard]] extra {
    public:
        extra() noexcept = default;
        extra(extra&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
        extra& operator=(extra&& other) noexcept {
            extra old(std::move(*this));
            of_ = std::exchange(other.of_, nullptr);
            return *this;
        }
        ~extra() {
            if (of_ != nullptr) {
                of_->extra_ends();
            }
        }
        explicit operator bool() const noexcept { return of_ != nullptr; }

    private:
        friend retry_budget;
        explicit extra(retry_budget& of) noexcept : of_(&of) {}
        retry_budget* of_ = nullptr;
    };

    call begin(clock::time_point now) noexcept;
    // Empty: not within the budget.
    extra try_spend(clock::time_point now) noexcept;
    // How an attempt ended. Cancelled ones are not told.
    void succeeded() noexcept;
    void failed() noexcept;

    retry_budget_stats stats() const noexcept { return stats_; }
    void write_metrics(metric_writer& to) const;

private:
    void call_ends() noexcept;
    void extra_ends() noexcept;

    std::variant<decision::ratio_budget, decision::token_budget, decision::in_flight_budget> kind_;
    retry_budget_stats stats_;
    std::string name_;
};

}  // namespace weir
