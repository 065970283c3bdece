// SPDX-License-Identifier: MIT
// retry_policy: one way of retrying, shared by many calls. retry.hpp has the rest, and what to
// include.
#pragma once

#include <weir/flow/decision/random.hpp>
#include <weir/flow/policy.hpp>
#include <weir/flow/retry_options.hpp>

#include <optional>
#include <string>

namespace weir {

namespace detail {
class retry_run;
void check_retry_options(const retry_options& options);  // throws invalid_argument
}  // namespace detail

// Belongs to one loop; must outlive the calls it is given.
class retry_policy {
public:
    static constexpr policy_kind kind = policy_kind::retry;

    explicit retry_policy(const retry_options& options);
    retry_policy(const retry_policy&) = delete;
    retry_policy& operator=(const retry_policy&) = delete;

    // What the callable gives in the end, or its last error thrown.
    template <class Fn>
    auto run(Fn&& fn);
    // The same as an outcome.
    template <class Fn>
    auto settle(Fn&& fn);
    // As a layer of a pipeline.
    template <class Next>
    auto around(call_context& call, Next& next);

    const std::string& name() const noexcept { return name_; }
    const retry_options& options() const noexcept { return options_; }
    retry_stats stats() const noexcept { return stats_; }
    void write_metrics(metric_writer& to) const;

private:
    friend class detail::retry_run;
    decision::random_source& random();

    retry_options options_;
    std::string name_;
    retry_stats stats_;
    std::optional<decision::random_source> random_;  // seeded when it is first needed
};

}  // namespace weir
