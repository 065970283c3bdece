// SPDX-License-Identifier: MIT
// retry_budget: limits the extra attempts of all retries and hedges together.
//
//     weir::retry_budget budget({.ratio = 0.1});       // or token_budget{}, in_flight_budget{}
//     weir::retry_policy again({.max_attempts = 3, .budget = &budget});
//     weir::hedge_policy twice({.delay = 50ms, .budget = &budget});
//
// Clients that retry multiply the load on a dependency just when it is overloaded. A shared budget
// limits the extra attempts to a share of the ordinary traffic. It must outlive the policies that
// use it, and belongs to their loop.
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
    std::uint64_t spent = 0;    // extra attempts granted
    std::uint64_t refused = 0;  // extra attempts refused
    std::uint64_t calls_in_flight = 0;
    std::uint64_t extra_in_flight = 0;
};

class retry_budget {
public:
    // Throw invalid_argument for invalid options. The name is for metrics.
    explicit retry_budget(const ratio_budget& options = {}, std::string_view name = {})
        : kind_(decision::ratio_budget(options)), name_(name) {}
    explicit retry_budget(const token_budget& options, std::string_view name = {})
        : kind_(decision::token_budget(options)), name_(name) {}
    explicit retry_budget(const in_flight_budget& options, std::string_view name = {})
        : kind_(decision::in_flight_budget(options)), name_(name) {}
    retry_budget(const retry_budget&) = delete;
    retry_budget& operator=(const retry_budget&) = delete;

    // A call in flight. A default-constructed one counts nothing.
    class [[nodiscard]] call {
    public:
        call() noexcept = default;
        call(call&& other) noexcept : budget_(std::exchange(other.budget_, nullptr)) {}
        call& operator=(call&& other) noexcept {
            call old(std::move(*this));
            budget_ = std::exchange(other.budget_, nullptr);
            return *this;
        }
        ~call() {
            if (budget_ != nullptr) {
                budget_->call_ends();
            }
        }

    private:
        friend retry_budget;
        explicit call(retry_budget& budget) noexcept : budget_(&budget) {}
        retry_budget* budget_ = nullptr;
    };
    // An extra attempt, from its grant to its end.
    class [[nodiscard]] extra {
    public:
        extra() noexcept = default;
        extra(extra&& other) noexcept : budget_(std::exchange(other.budget_, nullptr)) {}
        extra& operator=(extra&& other) noexcept {
            extra old(std::move(*this));
            budget_ = std::exchange(other.budget_, nullptr);
            return *this;
        }
        ~extra() {
            if (budget_ != nullptr) {
                budget_->extra_ends();
            }
        }
        explicit operator bool() const noexcept { return budget_ != nullptr; }

    private:
        friend retry_budget;
        explicit extra(retry_budget& budget) noexcept : budget_(&budget) {}
        retry_budget* budget_ = nullptr;
    };

    call begin(clock::time_point now) noexcept;
    // Empty: the budget refuses the attempt.
    extra try_spend(clock::time_point now) noexcept;
    // The ending of an attempt. Cancelled attempts are not reported.
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
