// SPDX-License-Identifier: MIT
// What a client owes to each host it talks to, and to itself: a rate, a number of requests at a
// time, time limits, retries that honour Retry-After, and a circuit breaker; for each host its own,
// made on first use and bounded in number. polite_client.hpp puts them around a client.
//
//     weir::http::host_policies hosts({.rate = 2, .max_concurrent = 1});
//     auto answer = co_await hosts.run(page, weir::http::method::get, [&] { return client.get(page.text()); });
//
// A request that failed is one that got no answer in time, or the answer 429, 502, 503 or 504.
// Failures are retried where that does no harm, and open the host's circuit when there are many in
// a row: then requests to it are refused at once, with weir::refused, which says for how long. What
// is the caller's own fault (a bad argument, an address that a filter refuses, an answer larger
// than allowed) is passed on, and counts for nothing. When an answer that failed has Retry-After,
// all requests to that host wait until then.
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

// What has policies of its own.
enum class host_key : std::uint8_t {
    host,    // 'example.com', whatever the scheme and port
    origin,  // 'https://example.com:8443'
};

// What may be sent again when it has failed.
enum class repeatable : std::uint8_t {
    never,
    if_not_sent,  // only if it is certain that nobody has received it
    always,
};

struct host_policies_options {
    static constexpr double unlimited = std::numeric_limits<double>::infinity();

    http::host_key key = http::host_key::host;
    // Hosts remembered. Those that nobody uses make room for new ones, but not while their circuit
    // is open or they have asked to be left alone; if there are only such, new hosts are refused.
    std::size_t max_hosts = 10'000;

    double rate = 10;   // requests to a host each second, retries included
    double burst = 10;  // of which so many at once
    // Under way at a time, until the head of the answer is there. Others wait in line.
    std::size_t max_concurrent = 8;
    std::size_t max_waiting = 10'000;
    // A request that would have to wait longer than this for its turn is refused at once.
    clock::duration max_wait = clock::duration::max();

    clock::duration attempt_timeout = std::chrono::seconds(30);
    clock::duration total_timeout = clock::duration::max();  // waits and retries included
    int max_attempts = 3;                                    // 1: no retries
    backoff_options backoff{.initial = std::chrono::milliseconds(200),
                            .maximum = std::chrono::seconds(10)};
    // By default, only methods that can be sent twice without harm are, and others if they were not
    // sent at all.
    bool retry_all_methods = false;
    // Longer wishes are not waited for: the answer is given to the caller, and the host is left
    // alone for this time.
    clock::duration max_retry_after = std::chrono::minutes(1);

    unsigned consecutive_failures = 10;  // that open the circuit; 0: never
    clock::duration open_for = std::chrono::seconds(30);
};

struct host_policies_stats {
    std::uint64_t requests = 0;
    std::uint64_t attempts = 0;
    std::uint64_t answered = 0;  // with an answer that is no failure
    std::uint64_t failed = 0;    // in the end
    std::uint64_t refused = 0;
    std::uint64_t stopped = 0;  // the caller was cancelled
    std::size_t in_flight = 0;
    std::size_t hosts = 0;  // remembered
};

struct host_status {
    circuit_state circuit = circuit_state::closed;
    clock::duration retry_after{};  // requests before are refused or wait
    std::size_t in_flight = 0;
    std::size_t waiting = 0;
};

struct named_host_status : host_status {
    std::string host;
};

// Is this status one that a later attempt may change?
constexpr bool is_retryable(status code) noexcept {
    return code == status::too_many_requests || code == status::bad_gateway ||
           code == status::service_unavailable || code == status::gateway_timeout;
}

namespace detail {

struct host_answer {
    http::status code{};
    std::optional<clock::duration> retry_after;
};

// A request that can be sent several times.
class host_attempt {
public:
    virtual task<host_answer> send() = 0;
    // The last answer is not wanted.
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
    // Throws invalid_argument for options that make no sense.
    explicit host_policies(const host_policies_options& options = {});
    host_policies(const host_policies&) = delete;
    host_policies& operator=(const host_policies&) = delete;
    ~host_policies();

    // co_await run(url, method, send): what send() gives in the end, an answer with status() and
    // headers(). send is called for each attempt, and gives a task. The last failed answer is a
    // value, the last error is thrown; weir::refused if the host is not to be asked now, timed_out
    // at the total timeout. Cancelling ends what is under way and leaves nothing behind.
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

    // Of a host that is not known: as it would be made.
    host_status status_of(const url& to);
    // Of those that are known, so many at most; those that are not as they would be made come
    // first.
    std::vector<named_host_status> statuses(std::size_t most);
    // Forgets all about it: its circuit is closed again.
    void forget(const url& to);
    host_policies_stats stats() const noexcept;
    void write_metrics(metric_writer& to) const;

private:
    class core;

    std::string key_of(const url& to) const;
    task<> attempt(std::string host, repeatable again, detail::host_attempt& what);

    template <class Held, class Answer = typename weir::detail::call_value<
                              std::invoke_result_t<std::remove_reference_t<Held>&>>::type>
    task<Answer> repeat(std::string host, repeatable again, Held send) {
        detail::typed_attempt<std::remove_reference_t<Held>, Answer> what(send);
        co_await attempt(std::move(host), again, what);
        co_return what.take();
    }

    std::unique_ptr<core> core_;
};

}  // namespace weir::http
