// SPDX-License-Identifier: MIT
// Policies for each host, in simulated time around servers that are functions.

#include <weir/cancel.hpp>
#include <weir/error.hpp>
#include <weir/flow/prometheus.hpp>
#include <weir/http/address_filter.hpp>
#include <weir/http/headers.hpp>
#include <weir/http/host_policies.hpp>
#include <weir/io/error.hpp>
#include <weir/refusal.hpp>
#include <weir/spawn.hpp>
#include <weir/testing/testing.hpp>
#include <weir/time.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

using namespace std::chrono_literals;
namespace http = weir::http;
using http::host_policies;
using http::method;
using http::url;

namespace {

using moments = std::vector<std::chrono::milliseconds>;

class answer {
public:
    explicit answer(http::status code, http::headers fields = {}, int* discarded = nullptr,
                    weir::clock::duration rest = 1ms)
        : code_(code), fields_(std::move(fields)), discarded_(discarded), rest_(rest) {}
    http::status status() const noexcept { return code_; }
    const http::headers& headers() const noexcept { return fields_; }
    weir::task<> discard() {
        co_await weir::sleep(rest_);
        if (discarded_ != nullptr) {
            ++*discarded_;
        }
    }

private:
    http::status code_;
    http::headers fields_;
    int* discarded_;
    weir::clock::duration rest_;
};

class lost : public std::runtime_error {
public:
    lost() : std::runtime_error("connection lost") {}
};

// Gives these answers in order, then 200 for ever. Records the times of the requests.
struct server {
    struct reply {
        int code = 200;
        std::string_view retry_after{};
    };
    std::deque<reply> script{};
    weir::clock::duration takes = 10ms;
    weir::clock::time_point began = weir::now();
    moments arrivals{};
    int running = 0;
    int most = 0;
    int discarded = 0;
    weir::clock::duration rest = 1ms;

    // 0: the connection is lost; 1: the address is refused; 2: too large; 3: no such host.
    weir::task<answer> serve() {
        arrivals.push_back(
            std::chrono::duration_cast<std::chrono::milliseconds>(weir::now() - began));
        reply next;
        if (!script.empty()) {
            next = script.front();
            script.pop_front();
        }
        most = std::max(most, ++running);
        const leaving out{running};
        co_await weir::sleep(takes);
        switch (next.code) {
            case 0:
                throw lost();
            case 1:
                throw http::address_refused("no", "x", weir::io::address::loopback(80));
            case 2:
                throw weir::limit_exceeded("too large");
            case 3:
                throw weir::resolve_error("no such host");
            default:
                break;
        }
        http::headers fields;
        if (!next.retry_after.empty()) {
            fields.set("Retry-After", next.retry_after);
        }
        co_return answer(static_cast<http::status>(next.code), std::move(fields), &discarded, rest);
    }

private:
    struct leaving {
        int& running;
        ~leaving() { --running; }
    };
};

}  // namespace

namespace {

const url page = url::parse("http://example.com/a");
const url other = url::parse("http://other.com/a");

// No spread, so that moments can be compared.
http::host_policies_options plain() {
    http::host_policies_options options;
    options.rate = http::host_policies_options::unlimited;
    options.backoff = {.initial = 100ms, .maximum = 1s, .jitter = weir::jitter::none()};
    return options;
}

weir::task<http::status> get(host_policies& policies, server& from, url to = page,
                             method request_method = method::get) {
    answer got = co_await policies.run(to, request_method, [&] { return from.serve(); });
    co_return got.status();
}

}  // namespace

TEST(HostPolicies, ChecksItsOptions) {
    const auto error_of = [](auto change) -> std::string {
        http::host_policies_options options;
        change(options);
        try {
            host_policies checked(options);
        } catch (const weir::invalid_argument& error) {
            return error.what();
        }
        return "it was taken";
    };
    using options = http::host_policies_options;
    const auto has = [](const std::string& text, std::string_view word) {
        EXPECT_NE(text.find(word), std::string::npos) << text;
    };
    has(error_of([](options& o) { o.rate = 0; }), "rate is 0");
    has(error_of([](options& o) { o.rate = -1; }), "rate");
    has(error_of([](options& o) { o.rate = 0.0 / 0.0; }), "rate");
    has(error_of([](options& o) { o.burst = 0.5; }), "burst");
    has(error_of([](options& o) { o.max_hosts = 0; }), "max_size");
    has(error_of([](options& o) { o.max_concurrent = 0; }), "max_concurrent");
    has(error_of([](options& o) { o.attempt_timeout = 0s; }), "attempt_timeout");
    has(error_of([](options& o) { o.total_timeout = 0s; }), "total_timeout");
    has(error_of([](options& o) { o.max_attempts = 0; }), "max_attempts");
    has(error_of([](options& o) { o.max_retry_after = -1s; }), "max_retry_after");
    has(error_of([](options& o) { o.open_for = 0s; }), "open_for");
    has(error_of([](options& o) { o.backoff.initial = -1s; }), "initial");
    has(error_of([](options& o) { o.consecutive_failures = 0; }), "it was taken");
}

WEIR_TEST(HostPolicies, RetriesWhatMayPass) {
    for (const int code : {429, 502, 503, 504, 0, 3}) {
        host_policies hosts(plain());
        server from{.script = {{code}, {code}}};
        const auto got = co_await get(hosts, from);
        EXPECT_EQ(got, http::status::ok);
        // Errors come after 10 ms; unwanted answers are read first, for 1 ms.
        const auto step = code > 3 ? 11ms : 10ms;
        EXPECT_EQ(from.arrivals, (moments{0ms, step + 100ms, 2 * step + 300ms})) << code;
        EXPECT_EQ(from.discarded, code > 3 ? 2 : 0);
        const auto stats = hosts.stats();
        EXPECT_EQ(stats.requests, 1u);
        EXPECT_EQ(stats.attempts, 3u);
        EXPECT_EQ(stats.answered, 1u);
        EXPECT_EQ(stats.failed + stats.refused + stats.stopped + stats.in_flight, 0u);
    }
}

// The rest of a dropped response may never come.
WEIR_TEST(HostPolicies, DoesNotWaitForUnwantedBodies) {
    host_policies hosts(plain());
    server from{.script = {{503}}, .rest = 1h};
    const auto got = co_await get(hosts, from);
    EXPECT_EQ(got, http::status::ok);
    EXPECT_EQ(from.arrivals, (moments{0ms, 1110ms}));
    EXPECT_EQ(from.discarded, 0);
}

WEIR_TEST(HostPolicies, GivesUpWithTheLastFailure) {
    host_policies hosts(plain());
    server unwilling{.script = {{503}, {502}, {504}, {200}}};
    const auto got = co_await get(hosts, unwilling);
    EXPECT_EQ(got, http::status::gateway_timeout);
    EXPECT_EQ(unwilling.discarded, 2);  // the last one is the caller's
    server broken{.script = {{503}, {502}, {0}, {200}}};
    WEIR_EXPECT_THROW_WITH(get(hosts, broken), lost, "connection lost");
    EXPECT_EQ(broken.arrivals.size(), 3u);
    EXPECT_EQ(hosts.stats().failed, 2u);
}

WEIR_TEST(HostPolicies, PassesOnAllOtherAnswersAndErrors) {
    host_policies hosts(plain());
    for (const int code : {200, 204, 301, 304, 400, 401, 403, 404, 410, 500, 501, 505, 599}) {
        server from{.script = {{code, "30"}}};
        const auto got = co_await get(hosts, from);
        EXPECT_EQ(http::number_of(got), static_cast<unsigned>(code));
        EXPECT_EQ(from.arrivals.size(), 1u) << code;
    }
    for (int round = 0; round < 20; ++round) {
        server filtered{.script = {{1}}};
        WEIR_EXPECT_THROW(get(hosts, filtered), http::address_refused);
        EXPECT_EQ(filtered.arrivals.size(), 1u);
        server large{.script = {{2}}};
        WEIR_EXPECT_THROW(get(hosts, large), weir::limit_exceeded);
        EXPECT_EQ(large.arrivals.size(), 1u);
        const auto misused = [&]() -> weir::task<answer> {
            co_await weir::yield();
            throw weir::invalid_argument("bad");
        };
        WEIR_EXPECT_THROW(hosts.run(page, method::get, misused), weir::invalid_argument);
    }
    EXPECT_EQ(hosts.status_of(page).circuit, weir::circuit_state::closed);
}

WEIR_TEST(HostPolicies, RepeatsOnlyWhatDoesNoHarm) {
    for (const method request_method :
         {method::post, method::patch, method::connect, method::other}) {
        host_policies hosts(plain());
        server unwilling{.script = {{503}}};
        const auto got = co_await get(hosts, unwilling, page, request_method);
        EXPECT_EQ(got, http::status::service_unavailable);
        server broken{.script = {{0}}};
        WEIR_EXPECT_THROW(get(hosts, broken, page, request_method), lost);
        EXPECT_EQ(broken.arrivals.size(), 1u);
        server unknown{.script = {{3}}};  // nothing was sent
        const auto second = co_await get(hosts, unknown, page, request_method);
        EXPECT_EQ(second, http::status::ok);

        auto options = plain();
        options.retry_all_methods = true;
        host_policies bold(options);
        server from{.script = {{503}}};
        const auto third = co_await get(bold, from, page, request_method);
        EXPECT_EQ(third, http::status::ok);
    }
    for (const method request_method :
         {method::head, method::put, method::delete_, method::options}) {
        host_policies hosts(plain());
        server from{.script = {{503}}};
        const auto got = co_await get(hosts, from, page, request_method);
        EXPECT_EQ(got, http::status::ok);
    }
}

WEIR_TEST(HostPolicies, HonoursRetryAfter) {
    host_policies hosts(plain());
    server from{.script = {{429, "3"}, {503, "0"}}};
    const auto first = weir::spawn(get(hosts, from));
    co_await weir::sleep(500ms);
    EXPECT_EQ(hosts.status_of(page).retry_after, 2510ms);
    // All requests to that host wait, and none to others.
    const auto second = weir::spawn(get(hosts, from));
    server elsewhere;
    const auto there = co_await get(hosts, elsewhere, other);
    EXPECT_EQ(there, http::status::ok);
    EXPECT_EQ(weir::now() - from.began, 510ms);
    co_await first;
    co_await second;
    // The second of the two requests met the second failure, or the first one did, by the schedule.
    WEIR_ASSERT_EQ(from.arrivals.size(), 4u);
    EXPECT_EQ(from.arrivals[0], 0ms);
    EXPECT_GE(from.arrivals[1], 3010ms);
    EXPECT_LE(from.arrivals[2], 3011ms);
    EXPECT_LE(from.arrivals[3], 3011ms + 10ms + 1ms + 200ms);
}

WEIR_TEST(HostPolicies, LimitsWhatRetryAfterMayAskFor) {
    auto options = plain();
    options.max_retry_after = 5s;
    options.max_wait = 2s;
    host_policies hosts(options);
    server from{.script = {{429, "3600"}}};
    const auto got = co_await get(hosts, from);
    EXPECT_EQ(got, http::status::too_many_requests);  // not waited for
    EXPECT_EQ(weir::now() - from.began, 10ms);
    EXPECT_EQ(hosts.status_of(page).retry_after, 5s);
    // The host is left alone for as long as is allowed; a longer wait than max_wait is refused.
    WEIR_EXPECT_THROW_WITH(get(hosts, from), weir::refused, "example.com: ");
    co_await weir::sleep(3s);
    const auto after = co_await get(hosts, from);
    EXPECT_EQ(after, http::status::ok);
    EXPECT_EQ(from.arrivals, (moments{0ms, 5010ms}));
    // Nor is a wait begun that a deadline would end.
    server again{.script = {{503, "4"}}};
    options.max_attempts = 1;
    options.max_wait = weir::clock::duration::max();
    host_policies patient(options);
    co_await get(patient, again);
    WEIR_EXPECT_THROW_WITH(weir::timeout(1s, get(patient, again)), weir::timed_out,
                           "example.com: ");
    EXPECT_EQ(again.arrivals.size(), 1u);
}

WEIR_TEST(HostPolicies, OpensTheCircuitOfOneHost) {
    auto options = plain();
    options.consecutive_failures = 3;
    options.max_attempts = 2;
    host_policies hosts(options);
    server from{.script = {{0}, {503}, {502}, {0}}};
    const auto first = co_await get(hosts, from);
    EXPECT_EQ(first, http::status::service_unavailable);
    // The third failure in a row opens it: no second attempt, and the answer is given as it is.
    const auto second = co_await get(hosts, from);
    EXPECT_EQ(second, http::status::bad_gateway);
    EXPECT_EQ(from.arrivals.size(), 3u);
    EXPECT_EQ(hosts.status_of(page).circuit, weir::circuit_state::open);
    try {
        co_await get(hosts, from);
        ADD_FAILURE() << "not refused";
    } catch (const weir::refused& refused) {
        EXPECT_EQ(refused.reason(), weir::refusal_reason::circuit_open);
        EXPECT_EQ(refused.retry_after(), 30s);
        EXPECT_NE(std::string(refused.what()).find("example.com"), std::string::npos);
    }
    const auto elsewhere = co_await get(hosts, from, url::parse("http://www.example.com/"));
    EXPECT_EQ(http::number_of(elsewhere), 200u) << "its first failure is retried";
    from.script.clear();
    co_await weir::sleep(30s);
    EXPECT_EQ(hosts.status_of(page).circuit, weir::circuit_state::half_open);
    const auto trial = co_await get(hosts, from, url::parse("https://EXAMPLE.com.:99/"));
    EXPECT_EQ(trial, http::status::ok);
    EXPECT_EQ(hosts.status_of(page).circuit, weir::circuit_state::closed);
    EXPECT_EQ(hosts.stats().refused, 1u);
    EXPECT_EQ(hosts.stats().hosts, 2u);

    // By origin, other ports are others.
    options.key = http::host_key::origin;
    options.consecutive_failures = 1;
    host_policies origins(options);
    server down{.script = {{0}}};
    WEIR_EXPECT_THROW(get(origins, down), lost);
    WEIR_EXPECT_THROW(get(origins, down), weir::refused);
    const auto next_door = co_await get(origins, down, url::parse("http://example.com:81/"));
    EXPECT_EQ(next_door, http::status::ok);
    origins.forget(page);
    const auto forgotten = co_await get(origins, down);
    EXPECT_EQ(forgotten, http::status::ok);

    // None at all, if so wanted.
    options.consecutive_failures = 0;
    host_policies trusting(options);
    server failing{.script = std::deque<server::reply>(50, {0})};
    for (int i = 0; i < 25; ++i) {
        WEIR_EXPECT_THROW(get(trusting, failing), lost);
    }
}

WEIR_TEST(HostPolicies, LimitsTime) {
    auto options = plain();
    options.attempt_timeout = 1s;
    host_policies hosts(options);
    server slow{.takes = 1h};
    WEIR_EXPECT_THROW_WITH(get(hosts, slow), weir::timed_out,
                           "example.com: no response within 1 s");
    EXPECT_EQ(slow.arrivals, (moments{0ms, 1100ms, 2300ms}));
    EXPECT_EQ(slow.running, 0);
    options.total_timeout = 1500ms;
    host_policies hasty(options);
    server hanging{.takes = 1h};
    WEIR_EXPECT_THROW_WITH(get(hasty, hanging), weir::timed_out, "no response within 1.5 s");
    EXPECT_EQ(weir::now() - hanging.began, 1500ms);
    EXPECT_EQ(hanging.running, 0);
    EXPECT_EQ(hasty.stats().failed, 1u);
    EXPECT_EQ(hasty.stats().in_flight, 0u);
}

WEIR_TEST(HostPolicies, LimitsRateAndConcurrency) {
    auto options = plain();
    options.rate = 10;
    options.burst = 2;
    options.max_concurrent = 3;
    host_policies hosts(options);
    server from{.takes = 1s};
    server elsewhere{.takes = 1s};
    std::vector<weir::handle<http::status>> all;
    for (int i = 0; i < 12; ++i) {
        all.push_back(weir::spawn(get(hosts, from)));
    }
    all.push_back(weir::spawn(get(hosts, elsewhere, other)));
    co_await weir::testing::settle_all();
    EXPECT_EQ(from.arrivals.size(), 2u);
    EXPECT_EQ(elsewhere.arrivals.size(), 1u);
    EXPECT_EQ(hosts.status_of(page).in_flight, 2u);
    EXPECT_EQ(hosts.status_of(page).waiting, 10u);
    for (auto& each : all) {
        co_await each;
    }
    EXPECT_EQ(from.most, 3);
    for (std::size_t i = 2; i < from.arrivals.size(); ++i) {
        EXPECT_GE(from.arrivals[i], 100ms * (static_cast<int>(i) - 1));
    }
    EXPECT_EQ(hosts.stats().answered, 13u);
}

WEIR_TEST(HostPolicies, RemembersABoundedNumberOfHosts) {
    auto options = plain();
    options.max_hosts = 3;
    options.max_attempts = 1;
    options.consecutive_failures = 1;
    host_policies hosts(options);
    server from;
    for (int i = 0; i < 100; ++i) {
        co_await get(hosts, from, url::parse("http://h" + std::to_string(i) + ".example/"));
        EXPECT_LE(hosts.stats().hosts, 3u);
    }
    // Three hosts that are down are not forgotten before their time.
    for (int i = 0; i < 3; ++i) {
        from.script = {{0}};
        WEIR_EXPECT_THROW(
            get(hosts, from, url::parse("http://d" + std::to_string(i) + ".example/")), lost);
    }
    WEIR_EXPECT_THROW_WITH(get(hosts, from), weir::refused, "host_policies");
    WEIR_EXPECT_THROW(get(hosts, from, url::parse("http://d0.example/")), weir::refused);
    co_await weir::sleep(31s);
    const auto later = co_await get(hosts, from);
    EXPECT_EQ(later, http::status::ok);

    weir::prometheus_writer metrics;
    hosts.write_metrics(metrics);
    EXPECT_NE(metrics.text().find("host_policies"), std::string::npos);
}

// Requests that come, fail, are limited and are stopped at any point: everything is given back, and
// every request is counted once.
WEIR_TEST(HostPolicies, StopsAtAnyPointLeaveNothingBehind) {
    auto options = plain();
    options.rate = 200;
    options.burst = 1;
    options.max_concurrent = 2;
    options.consecutive_failures = 4;
    options.open_for = 100ms;
    options.attempt_timeout = 50ms;
    options.max_hosts = 2;
    host_policies hosts(options);
    server from{.takes = 7ms};
    std::mt19937 random(11);
    const std::vector<server::reply> replies = {{200},      {200}, {0}, {503},
                                                {429, "1"}, {404}, {1}, {3}};
    std::uint64_t seen = 0;
    const auto one = [&](int number) -> weir::task<> {
        const url to = number % 3 == 0 ? other : page;
        const auto ended = co_await weir::settle(get(hosts, from, to));
        seen += ended.is_cancelled() ? 0 : 1;
    };
    for (int round = 0; round < 60; ++round) {
        from.script.push_back(replies[random() % replies.size()]);
        std::vector<weir::handle<>> all;
        for (int i = 0; i < 4; ++i) {
            all.push_back(weir::spawn(one(i)));
        }
        co_await weir::sleep(std::chrono::milliseconds(random() % 30));
        for (auto& each : all) {
            if (random() % 2 == 0) {
                each.cancel();
            }
        }
        co_await weir::sleep(std::chrono::milliseconds(random() % 400));
        for (auto& each : all) {
            each.cancel();
        }
        for (auto& each : all) {
            co_await each.wait();
        }
        EXPECT_EQ(from.running, 0);
        EXPECT_EQ(hosts.stats().in_flight, 0u);
        EXPECT_EQ(hosts.status_of(page).in_flight + hosts.status_of(page).waiting, 0u);
    }
    const auto stats = hosts.stats();
    EXPECT_EQ(stats.requests, stats.answered + stats.failed + stats.refused + stats.stopped);
    EXPECT_GE(stats.requests, seen);
    EXPECT_LE(from.most, 4);
    EXPECT_EQ(stats.attempts, from.arrivals.size());
    // And it still works.
    co_await weir::sleep(2s);
    from.script.clear();
    const auto got = co_await get(hosts, from);
    EXPECT_EQ(got, http::status::ok);
}
