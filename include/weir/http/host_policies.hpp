// SPDX-License-Identifier: MIT
// Policies for each host that a client talks to: a rate, a number of concurrent requests, time
// limits, retries that honour Retry-After, and a circuit breaker. Each host has its own, created on
// first use and bounded in number. polite_client.hpp puts them around a client.
//
//     weir::http::host_policies hosts({.rate = 2, .max_concurrent = 1});
//     const auto get = [&] { return client.get(page.text()); };
//     auto response = co_await hosts.run(page, weir::http::method::get, get);
//
// A request has failed if it got no response in time, or one with status 429, 502, 503 or 504.
// Failures are retried where that does no harm. Many failures in a row open the host's circuit:
// requests to it are then refused at once with weir::refused, which says for how long. Errors that
// are the caller's own (an invalid argument, an address that a filter refuses, a response larger
// than allowed) are passed on and count neither as failure nor as success. If a failed response has
// Retry-After, all requests to that host wait until then.
#pragma once

#include <weir/base/to_task.hpp>
#include <weir/clock.hpp>
#include <weir/flow/circuit_state.hpp>
#include <weir/flow/decision/backoff.hpp>
#include <weir/http/method.hpp>
#include <weir/http/retry_after.hpp>
#include <weir/http/status.hpp>
#include <weir/http/url.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir {
class metric_writer;
}

namespace weir::http {

// The key by which hosts are distinguished.
enum class host_key : std::uint8_t {
    host,    // 'example.com', with any scheme and port
    origin,  // 'https://example.com:8443'
};

// Whether a failed request may be sent again.
enum class repeatable : std::uint8_t {
    never,
    if_not_sent,  // only if the server has certainly not received it
    always,
};

struct host_policies_options {
    static constexpr double unlimited = std::numeric_limits<double>::infinity();

    http::host_key key = http::host_key::host;
    // Hosts remembered. Unused ones make room for new ones, except while their circuit is open or
    // their Retry-After runs; if all are such, requests to new hosts are refused.
    std::size_t max_hosts = 10'000;

    double rate = 10;   // requests to a host each second, retries included
    double burst = 10;  // of which so many at once
    // Requests in flight, until the head of the response. Others wait in line.
    std::size_t max_concurrent = 8;
    std::size_t max_waiting = 10'000;
    // A request that would wait longer than this for its turn is refused at once.
    clock::duration max_wait = clock::duration::max();

    clock::duration attempt_timeout = std::chrono::seconds(30);
    clock::duration total_timeout = clock::duration::max();  // waits and retries included
    int max_attempts = 3;                                    // 1: no retries
    backoff_options backoff{.initial = std::chrono::milliseconds(200),
                            .maximum = std::chrono::seconds(10)};
    // By default idempotent methods are retried, and others only if they were not sent.
    bool retry_all_methods = false;
    // If Retry-After is longer, the caller gets the response instead of a retry, and requests to
    // the host wait for this time.
    clock::duration max_retry_after = std::chrono::minutes(1);

    unsigned consecutive_failures = 10;  // that open the circuit; 0: never
    clock::duration open_for = std::chrono::seconds(30);
};

struct host_policies_stats {
    std::uint64_t requests = 0;
    std::uint64_t attempts = 0;
    std::uint64_t answered = 0;  // with a response that is not a failure
    std::uint64_t failed = 0;    // after all retries
    std::uint64_t refused = 0;
    std::uint64_t stopped = 0;  // the caller was cancelled
    std::size_t in_flight = 0;
    std::size_t hosts = 0;  // remembered
};

struct host_status {
    circuit_state circuit = circuit_state::closed;
    clock::duration retry_after{};  // until then, requests wait or are refused
    std::size_t in_flight = 0;
    std::size_t waiting = 0;
};

struct named_host_status : host_status {
    std::string host;
};

// True for a status that a later attempt may change.
constexpr bool is_retryable(status code) noexcept {
    return code == status::too_many_requests || code == status::bad_gateway ||
           code == status::service_unavailable || code == status::gateway_timeout;
}

namespace detail {

struct host_answer {
    http::status code{};
    std::optional<clock::duration> retry_after;
};

// A request that can be sent repeatedly.
class host_attempt {
public:
    virtual task<host_answer> send() = 0;
    // Drops the last response.
    virtual task<> discard() = 0;

protected:
    ~host_attempt() = default;
};

template <class Send, class Answer>
class typed_attempt final : public host_attempt {
public:
    explicit typed_attempt(Send& call) noexcept : call_(call) {}

    task<host_answer> send() override {
        answer_.reset();
        Answer given = co_await std::invoke(call_);
        answer_.emplace(std::move(given));
        co_return host_answer{answer_->status(), retry_after(answer_->headers())};
    }
    task<> discard() override {
        if constexpr (requires { answer_->discard(); }) {
            if (answer_) {
                co_await answer_->discard();
            }
        }
        answer_.reset();
        co_return;
    }
    Answer take() { return std::move(*answer_); }

private:
    Send& call_;
    std::optional<Answer> answer_;
};

}  // namespace detail

// Belongs to one loop, and must outlive its calls.
class host_policies {
public:
    // Throws invalid_argument for invalid options.
    explicit host_policies(const host_policies_options& options = {});
    host_policies(const host_policies&) = delete;
    host_policies& operator=(const host_policies&) = delete;
    ~host_policies();

    // co_await run(url, method, send): the response of the last attempt. send() is called for each
    // attempt and returns a task of a response, which has status() and headers(). A failed last
    // response is returned, the last error is thrown; throws weir::refused if no request may be
    // sent to the host now, and timed_out at the total timeout. Cancelling ends the attempt.
    template <class Send>
    auto run(const url& to, repeatable again, Send&& send) {
        WEIR_CHECK_CALLABLE(Send);
        return repeat<weir::detail::held_t<Send>>(key_of(to), again, std::forward<Send>(send));
    }
    template <class Send>
    auto run(const url& to, method with, Send&& send) {
        return run(to, repeatable_of(with), std::forward<Send>(send));
    }
    repeatable repeatable_of(method with) const noexcept;

    // The status of a host; an unknown host has the status of a new one.
    host_status status_of(const url& to);
    // The statuses of at most `limit` known hosts, those that differ from a new host first.
    std::vector<named_host_status> statuses(std::size_t limit);
    // Forgets the host: its circuit is closed again.
    void forget(const url& to);
    host_policies_stats stats() const noexcept;
    void write_metrics(metric_writer& to) const;

private:
    class core;

    std::string key_of(const url& to) const;
    task<> attempt(std::string host, repeatable again, detail::host_attempt& request);

    template <class Held, class Answer = typename weir::detail::call_value<
                              std::invoke_result_t<std::remove_reference_t<Held>&>>::type>
    task<Answer> repeat(std::string host, repeatable again, Held send) {
        detail::typed_attempt<std::remove_reference_t<Held>, Answer> request(send);
        co_await attempt(std::move(host), again, request);
        co_return request.take();
    }

    std::unique_ptr<core> core_;
};

}  // namespace weir::http
