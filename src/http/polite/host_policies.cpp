// SPDX-License-Identifier: MIT
// Each host has a pipeline: a gate for rate and Retry-After, a bulkhead, a breaker, and a time
// limit for one attempt. The retry loop around it is written out, since a failed response has to be
// dropped between two attempts. The policies see only a small summary of the response; the response
// itself, of any type, stays in the host_attempt.

#include "base/option_checks.hpp"
#include "http/polite/host_gate.hpp"

#include <weir/cancel.hpp>
#include <weir/error.hpp>
#include <weir/flow/bulkhead.hpp>
#include <weir/flow/circuit_breaker.hpp>
#include <weir/flow/keyed.hpp>
#include <weir/flow/pipeline.hpp>
#include <weir/flow/retry_loop.hpp>
#include <weir/flow/timeout_policy.hpp>
#include <weir/http/address_filter.hpp>
#include <weir/http/client_error.hpp>
#include <weir/http/host_policies.hpp>
#include <weir/io/error.hpp>
#include <weir/outcome.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <algorithm>

namespace weir::http {

namespace {

using detail::host_answer;
using detail::host_gate;

// The longest time to wait for the rest of a response that is to be dropped.
constexpr clock::duration discard_time = std::chrono::seconds(1);

// The caller made the error, not the host or the network.
bool is_own_fault(const outcome_view& ended) {
    if (const auto* lost = ended.error<transport_error>()) {
        return lost->why() == transport_error::kind::client_closed;
    }
    if (const auto* answered = ended.error<status_error>()) {
        return !is_retryable(answered->code());
    }
    return ended.error<std::logic_error>() != nullptr ||
           ended.error<address_refused>() != nullptr || ended.error<redirect_error>() != nullptr ||
           ended.error<limit_exceeded>() != nullptr;
}

bool is_failure(const outcome_view& ended) {
    if (const auto* answer = ended.value<host_answer>()) {
        return is_retryable(answer->code);
    }
    return ended.has_error() && !is_own_fault(ended);
}

// The server has certainly not received the request.
bool was_not_sent(const outcome_view& ended) {
    const auto* lost = ended.error<transport_error>();
    return ended.error<resolve_error>() != nullptr ||
           (lost != nullptr && lost->why() == transport_error::kind::connect);
}

bool may_repeat(repeatable again, const outcome_view& ended) {
    return again == repeatable::always || (again == repeatable::if_not_sent && was_not_sent(ended));
}

std::optional<clock::duration> requested_delay(const outcome_view& ended) {
    const auto* answer = ended.value<host_answer>();
    return answer != nullptr ? answer->retry_after : std::nullopt;
}

circuit_breaker_options breaker_options_for(const host_policies_options& options,
                                            std::string_view host) {
    return {.name = host,
            .consecutive_failures = std::max(1U, options.consecutive_failures),
            .open_for = options.open_for,
            .initial =
                options.consecutive_failures == 0 ? circuit_state::disabled : circuit_state::closed,
            .counts_as_failure = &is_failure,
            .ignores = [](const outcome_view& ended) {
                return ended.is_refused() || (ended.has_error() && is_own_fault(ended));
            }};
}

struct host {
    host(const host_policies_options& options, const std::string& name)
        : breaker(breaker_options_for(options, name)),
          gate(options, breaker),
          calls(name, gate,
                bulkhead_options{.max_concurrent = options.max_concurrent,
                                 .max_waiting = options.max_waiting,
                                 .max_wait = options.max_wait},
                breaker, weir::attempt_timeout{options.attempt_timeout}) {}

    circuit_breaker breaker;
    host_gate gate;
    pipeline<host_gate&, bulkhead, circuit_breaker&, timeout_policy<policy_kind::attempt_timeout>>
        calls;
};
using host_map = keyed<std::string, std::unique_ptr<host>>;

retry_options retry_options_for(const host_policies_options& options) {
    return {.name = "host_policies",
            .max_attempts = options.max_attempts,
            .backoff = options.backoff,
            .retry_if = &is_failure,
            .delay_from = &requested_delay,
            .max_asked_delay = options.max_retry_after};
}

void check(const host_policies_options& options) {
    const auto is_rate = [](double value) {
        return weir::detail::is_positive(value) || value == host_policies_options::unlimited;
    };
    const auto refuse = [](std::string_view option, auto value, std::string_view expected) {
        weir::detail::throw_bad_option("host_policies", option, value, expected);
    };
    if (!is_rate(options.rate)) {
        refuse("rate", options.rate, "a number above zero, or unlimited");
    }
    if (!(weir::detail::is_positive(options.burst) && options.burst >= 1)) {
        refuse("burst", options.burst, "1 or more, or no request could ever pass");
    }
    if (options.total_timeout <= clock::duration::zero()) {
        refuse("total_timeout", options.total_timeout, "a time above zero");
    }
    if (options.max_retry_after < clock::duration::zero()) {
        refuse("max_retry_after", options.max_retry_after, "zero or more");
    }
    host one(options, "host_policies");  // the policies check the other options
}

host_status current_status(host& one) {
    const bulkhead_stats places = one.calls.get<bulkhead>().stats();
    return {.circuit = one.breaker.state(),
            .retry_after = one.gate.time_left(now()),
            .in_flight = places.in_use,
            .waiting = places.waiting + one.gate.waiting()};
}

std::string in_seconds(clock::duration limit) {
    const double seconds = std::chrono::duration<double>(limit).count();
    std::string digits = std::to_string(seconds);
    digits.erase(digits.find_last_not_of('0') + 1);
    digits.erase(digits.find_last_not_of('.') + 1);
    return digits + " s";
}

}  // namespace

class host_policies::core {
public:
    explicit core(const host_policies_options& user_options)
        : options((check(user_options), user_options)),
          retries(retry_options_for(user_options)),
          hosts({.max_size = user_options.max_hosts,
                 .still_matters =
                     [](const std::string&, std::unique_ptr<host>& one) {
                         return one->gate.time_left(now()) > clock::duration::zero();
                     },
                 .name = "host_policies"},
                [this](const std::string& name) { return std::make_unique<host>(options, name); }) {
    }

    task<> run(std::string name, repeatable again, detail::host_attempt& request) {
        counted_request record(counts);
        auto in = hosts.try_get(name);
        if (!in) {
            record.ending = &counts.refused;
            throw refused(in.refusal(), "host_policies");
        }
        const host_map::lease lease = std::move(in).pass();
        if (options.total_timeout == clock::duration::max()) {
            co_await attempts(**lease, name, again, request, record);
            co_return;
        }
        auto all = attempts(**lease, name, again, request, record);
        const auto ended = co_await settle(timeout(options.total_timeout, std::move(all)));
        give(ended, name, options.total_timeout, record);
    }

    const host_policies_options options;
    host_policies_stats counts;
    retry_policy retries;
    host_map hosts;

private:
    // Counts one request, however it ends.
    struct counted_request {
        explicit counted_request(host_policies_stats& in) noexcept
            : counts(in), ending(&in.stopped) {
            ++counts.requests;
            ++counts.in_flight;
        }
        counted_request(const counted_request&) = delete;
        counted_request& operator=(const counted_request&) = delete;
        ~counted_request() {
            --counts.in_flight;
            ++*ending;
        }
        host_policies_stats& counts;
        std::uint64_t* ending;
    };

    // Returns when there is a response for the caller.
    task<> attempts(host& to, const std::string& name, repeatable again,
                    detail::host_attempt& request, counted_request& record) {
        retry_loop tries(retries);
        const auto send = [&] {
            ++counts.attempts;
            return request.send();
        };
        for (;;) {
            co_await tries.next();
            const outcome<host_answer> ended = co_await to.calls.settle(send);
            if (!is_failure(ended)) {
                tries.succeeded();
                give(ended, name, options.attempt_timeout, record);
                record.ending = &counts.answered;
                co_return;
            }
            if (const auto delay = requested_delay(ended)) {
                to.gate.close_until(now() + std::min(*delay, options.max_retry_after));
            }
            // With an open circuit the next attempt would be refused: this result says more.
            const bool is_worthwhile =
                may_repeat(again, ended) && to.breaker.open_time_left() == clock::duration::zero();
            if (!is_worthwhile || !tries.failed(ended)) {
                give(ended, name, options.attempt_timeout, record);
                record.ending = &counts.failed;
                co_return;
            }
            const auto discarded = co_await settle(timeout(discard_time, request.discard()));
            (void)discarded;
        }
    }

    // Throws unless there is a value.
    template <class T>
    void give(const outcome<T>& ended, const std::string& name, clock::duration limit,
              counted_request& record) {
        if (ended.has_value()) {
            return;
        }
        if (ended.is_refused()) {
            record.ending = &counts.refused;
            throw refused(ended.refusal(), name);
        }
        record.ending = &counts.failed;
        const outcome_view view(ended);
        const auto* late = view.error<timed_out>();
        // The policy's own timeout; errors with another message are the caller's.
        if (late != nullptr && late->what() == std::string_view("timed out")) {
            throw timed_out(name + ": no response within " + in_seconds(limit));
        }
        std::rethrow_exception(ended.error());
    }
};

host_policies::host_policies(const host_policies_options& options)
    : core_(std::make_unique<core>(options)) {}
host_policies::~host_policies() = default;

task<> host_policies::attempt(std::string host, repeatable again, detail::host_attempt& request) {
    return core_->run(std::move(host), again, request);
}

host_status host_policies::status_of(const url& to) {
    const auto known = core_->hosts.find(key_of(to));
    return known ? current_status(**known) : host_status{};
}

std::vector<named_host_status> host_policies::statuses(std::size_t limit) {
    std::vector<named_host_status> all;
    core_->hosts.for_each([&](const std::string& name, std::unique_ptr<host>& one) {
        all.push_back({current_status(*one), name});
    });
    const auto is_eventful = [](const host_status& status) {
        return status.circuit != circuit_state::closed ||
               status.retry_after > clock::duration::zero() ||
               status.in_flight + status.waiting > 0;
    };
    std::sort(all.begin(), all.end(),
              [&](const named_host_status& left, const named_host_status& right) {
                  const bool left_first = is_eventful(left);
                  return left_first != is_eventful(right) ? left_first : left.host < right.host;
              });
    all.resize(std::min(all.size(), limit));
    return all;
}

void host_policies::forget(const url& to) {
    core_->hosts.erase(key_of(to));
}

host_policies_stats host_policies::stats() const noexcept {
    host_policies_stats now = core_->counts;
    now.hosts = core_->hosts.size();
    return now;
}

void host_policies::write_metrics(metric_writer& to) const {
    core_->retries.write_metrics(to);
    core_->hosts.write_metrics(to);
}

std::string host_policies::key_of(const url& to) const {
    if (core_->options.key == host_key::origin) {
        return to.origin();
    }
    std::string_view host = to.host();
    if (host.ends_with('.')) {
        host.remove_suffix(1);
    }
    return std::string(host);
}

repeatable host_policies::repeatable_of(method request_method) const noexcept {
    return core_->options.retry_all_methods || is_idempotent(request_method)
               ? repeatable::always
               : repeatable::if_not_sent;
}

}  // namespace weir::http
