// SPDX-License-Identifier: MIT
// The decisions after a failed attempt. The outcome determines whether it is retried and which
// delay it requests; decision::retry counts attempts and time and draws the delay; the budget
// decides last. Hooks and observer are called after that, so 'retry' is reported only for attempts
// that are made. None of this code runs if the first attempt succeeds.

#include "base/option_checks.hpp"

#include <weir/flow/retry_policy.hpp>
#include <weir/timeout.hpp>

#include <atomic>

namespace weir {

namespace {

constinit std::atomic<retry_mode> process_mode{retry_mode::normal};

// Whether a later call may be admitted.
bool may_pass_later(const refusal& why) noexcept {
    switch (why.reason) {
        case refusal_reason::circuit_isolated:
        case refusal_reason::budget_exhausted:
        case refusal_reason::shut_down:
            return false;
        default:
            return why.retry_after != refusal::never;
    }
}

std::string exhausted_message(int attempts, retry_end why, std::string_view name,
                              const std::exception_ptr& last) {
    std::string text(name);
    if (!name.empty()) {
        text.append(": ");
    }
    text.append("gave up after ").append(std::to_string(attempts));
    text.append(attempts == 1 ? " attempt (" : " attempts (").append(to_string(why)).append(")");
    if (last != nullptr) {
        text.append("; the last error: ").append(describe(last));
    }
    return text;
}

}  // namespace

std::string_view to_string(retry_end why) noexcept {
    switch (why) {
        case retry_end::none:
            return "there is another attempt";
        case retry_end::succeeded:
            return "it succeeded";
        case retry_end::attempts:
            return "no attempt is left";
        case retry_end::time:
            return "no time is left";
        case retry_end::budget:
            return "the budget is exhausted";
        case retry_end::aborted:
            return "not to be retried";
        case retry_end::asked_too_much:
            return "it asks for too long a wait";
        case retry_end::cancelled:
            return "cancelled";
        case retry_end::switched_off:
            return "retrying is switched off";
    }
    return "";
}

retries_exhausted::retries_exhausted(int attempts, retry_end why, std::string_view name)
    : std::runtime_error(exhausted_message(attempts, why, name, std::current_exception())),
      attempts_(attempts),
      why_(why) {}

retry_override::retry_override(retry_mode mode) noexcept : former_(process_mode.exchange(mode)) {}
retry_override::~retry_override() {
    process_mode.store(former_);
}

retry_policy::retry_policy(const retry_options& options) : options_(options), name_(options.name) {
    detail::check_retry_options(options);
    options_.name = name_;
}

decision::random_source& retry_policy::random() {
    if (!random_) {
        random_.emplace(options_.seed != 0 ? options_.seed : loop::current().fresh_seed());
    }
    return *random_;
}

void retry_policy::write_metrics(metric_writer& to) const {
    const auto count = [&](std::string_view metric, std::string_view help, std::uint64_t value) {
        to.counter(metric, help, {{"name", name_}}, static_cast<double>(value));
    };
    count("weir_retry_calls_total", "Calls", stats_.calls);
    count("weir_retry_retries_total", "Attempts after the first", stats_.retries);
    count("weir_retry_succeeded_total", "Calls that succeeded on a retry",
          stats_.succeeded_on_retry);
    count("weir_retry_exhausted_total", "Calls that ran out of attempts or time", stats_.exhausted);
    count("weir_retry_budget_exhausted_total", "Calls given up for lack of budget",
          stats_.budget_exhausted);
    count("weir_retry_aborted_total", "Calls whose outcome is not retried", stats_.aborted);
    count("weir_retry_cancelled_total", "Calls that ended with a cancellation", stats_.cancelled);
    to.gauge("weir_retry_waiting", "Calls between two attempts", {{"name", name_}},
             static_cast<double>(stats_.waiting));
}

namespace detail {

void check_retry_options(const retry_options& options) {
    const std::string owner = options.name.empty() ? "retry" : "retry " + std::string(options.name);
    if (options.max_attempts < 1) {
        throw_bad_option(owner, "max_attempts", options.max_attempts,
                         "at least 1, since the first attempt counts too");
    }
    if (options.total_time <= clock::duration::zero()) {
        throw_bad_option(owner, "total_time", options.total_time, "a time above zero");
    }
    if (options.max_asked_delay < clock::duration::zero()) {
        throw_bad_option(owner, "max_asked_delay", options.max_asked_delay, "zero or more");
    }
    decision::backoff::check(options.backoff, owner.c_str());
}

bool retry_run::is_retryable(const outcome_view& ended) const {
    const retry_options& options = policy_.options_;
    if (options.abort_if && options.abort_if(ended)) {
        return false;
    }
    if (options.retry_if) {
        return options.retry_if(ended);
    }
    const refusal* refused = ended.refusal();
    return refused != nullptr ? may_pass_later(*refused) : !ended.has_value();
}

bool retry_run::judge(const outcome_view& ended, call_context& call) {
    if (ended.is_cancelled()) {
        ++policy_.stats_.cancelled;
        end_ = retry_end::cancelled;
        return false;
    }
    if (is_retryable(ended)) {
        return schedule(ended, call);
    }
    if (ended.has_value()) {
        succeeded(call.attempt());
    } else {
        give_up(retry_end::aborted, ended, call);
    }
    return false;
}

bool retry_run::schedule(const outcome_view& ended, call_context& call) {
    const retry_options& options = policy_.options_;
    extra_ = {};  // the attempt has ended
    call.time_passed();
    if (stops_.was_stopped()) {
        ++policy_.stats_.cancelled;
        end_ = retry_end::cancelled;
        return false;
    }
    if (options.budget != nullptr) {
        options.budget->failed();
    }
    const retry_mode mode = process_mode.load(std::memory_order_relaxed);
    if (mode == retry_mode::off) {
        return give_up(retry_end::switched_off, ended, call);
    }
    const clock::duration requested = requested_delay(ended);
    if (!progress_) {
        progress_.emplace(options.max_attempts, options.backoff);
    }
    const decision::retry::verdict next = progress_->failed(
        call.now(), requested, std::min(deadline_, current_deadline()), policy_.random());
    if (!next.again()) {
        return give_up(next.end, ended, call);
    }
    if (requested == refusal::never || requested > options.max_asked_delay) {
        return give_up(retry_end::asked_too_much, ended, call);
    }
    if (options.budget != nullptr) {
        extra_ = options.budget->try_spend(call.now());
        if (!extra_) {
            return give_up(retry_end::budget, ended, call);
        }
    }
    delay_ = mode == retry_mode::without_waiting ? clock::duration::zero() : next.delay;
    ++policy_.stats_.retries;
    ++policy_.stats_.waiting;
    is_waiting_ = true;
    report(options.on_retry, "retry", ended, call);
    return true;
}

clock::duration retry_run::requested_delay(const outcome_view& ended) const {
    const refusal* refused = ended.refusal();
    clock::duration requested = refused != nullptr ? refused->retry_after : clock::duration::zero();
    if (policy_.options_.delay_from) {
        if (const std::optional<clock::duration> delay = policy_.options_.delay_from(ended)) {
            requested = std::max(requested, *delay);
        }
    }
    return requested;
}

bool retry_run::give_up(retry_end why, const outcome_view& ended, call_context& call) {
    end_ = why;
    delay_ = {};
    attempts_ = static_cast<int>(call.attempt());
    if (why == retry_end::aborted) {
        ++policy_.stats_.aborted;
        report(policy_.options_.on_aborted, "aborted", ended, call);
    } else {
        ++(why == retry_end::budget ? policy_.stats_.budget_exhausted : policy_.stats_.exhausted);
        report(policy_.options_.on_exhausted, "exhausted", ended, call);
    }
    return false;
}

void retry_run::report(const hook<void(const retry_event&)>& listener, std::string_view what,
                       const outcome_view& ended, call_context& call) const {
    const auto attempt = static_cast<int>(call.attempt());
    if (listener) {
        listener({.name = policy_.name_,
                  .attempt = attempt,
                  .delay = delay_,
                  .end = end_,
                  .outcome = ended});
    }
    if (observer* watching = policy_.options_.observer) {
        const bool again = end_ == retry_end::none;
        watching->on_event(
            {.kind = "retry",
             .name = policy_.name_,
             .what = what,
             .at = call.now(),
             .value = again ? std::chrono::duration<double>(delay_).count() : attempt});
    }
}

std::exception_ptr retry_run::exhaustion(const outcome_view& ended) const {
    if (end_ == retry_end::aborted || end_ == retry_end::cancelled) {
        return nullptr;
    }
    std::exception_ptr last = ended.error_ptr();
    if (const refusal* why = ended.refusal()) {
        last = std::make_exception_ptr(refused(*why));
    }
    if (last == nullptr) {
        return std::make_exception_ptr(retries_exhausted(attempts_, end_, policy_.name_));
    }
    try {
        std::rethrow_exception(last);
    } catch (...) {
        return std::make_exception_ptr(retries_exhausted(attempts_, end_, policy_.name_));
    }
}

}  // namespace detail
}  // namespace weir
