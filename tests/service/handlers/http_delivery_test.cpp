// SPDX-License-Identifier: MIT
// The handler 'http' against a receiver on loopback.

#include "support.hpp"
#include <support/io.hpp>

#include <weir/error.hpp>
#include <weir/http/server.hpp>
#include <weir/io/listener.hpp>
#include <weir/run.hpp>
#include <weir/service/handlers/http_delivery.hpp>
#include <weir/service/handlers/webhook_signature.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using handlers_test::outcome_of;
using handlers_test::task_with;
namespace service = weir::service;
namespace http = weir::http;
namespace io = weir::io;

namespace {

// Receives deliveries on loopback.
class hook_receiver {
public:
    using answer = std::function<http::response(http::request&, const std::string&)>;
    explicit hook_receiver(answer response) : answer_(std::move(response)) {
        io::listener listener = io::listen(io::address::loopback(0));
        port_ = listener.local_address().port();
        running_ = weir::spawn(http::serve(
            std::move(listener), [this](http::request& request) -> weir::task<http::response> {
                const std::string body = co_await request.text();
                ++requests;
                co_return answer_(request, body);
            }));
    }
    weir::task<> stop() {
        running_.cancel();
        co_await running_.wait();
    }
    std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/hook"; }
    int requests = 0;

private:
    answer answer_;
    std::uint16_t port_ = 0;
    weir::handle<> running_;
};

http::address_filter with_loopback() {
    http::address_filter filter = http::address_filter::public_only();
    filter.allow("127.0.0.0/8");
    return filter;
}

std::string payload_to(const std::string& url, const char* more = "") {
    return R"({"url": ")" + url + "\"" + more + "}";
}

}  // namespace

WEIR_IO_TEST(HttpDelivery, DeliversAndKeepsTheAnswer) {
    const std::vector<service::webhook_key> keys = {
        service::webhook_key::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")};
    std::vector<std::string> seen;
    hook_receiver receiver([&](http::request& request, const std::string& body) {
        const bool is_good = service::is_signed(keys, request.header("webhook-id"),
                                                request.header("webhook-timestamp"),
                                                request.header("webhook-signature"), body);
        seen.push_back(std::string(request.method_name()) + " " +
                       std::string(request.header("Content-Type")) + " " + body + " " +
                       std::string(request.header("x-mine")) +
                       (is_good ? " signed" : " NOT signed"));
        return http::response::text("thanks");
    });
    service::http_delivery delivery({}, with_loopback(), keys);
    auto run = [&](service::job& job) { return delivery.deliver(job); };
    const auto object = task_with(
        payload_to(receiver.url(), R"(, "body": {"a": 1}, "headers": {"X-Mine": "yes"})"));
    const std::string first = co_await outcome_of(object, run);
    EXPECT_EQ(
        first,
        R"({"status":200,"content_type":"text/plain; charset=utf-8","body":"thanks","truncated":false})");
    const auto text =
        task_with(payload_to(receiver.url(), R"(, "body": "plain", "method": "PUT")"));
    const std::string second = co_await outcome_of(text, run);
    EXPECT_EQ(second.substr(0, 13), R"({"status":200)");
    const std::vector<std::string> expected = {R"(POST application/json {"a": 1} yes signed)",
                                               "PUT text/plain; charset=utf-8 plain  signed"};
    EXPECT_EQ(seen, expected);
    co_await receiver.stop();
}

WEIR_IO_TEST(HttpDelivery, AnswersOtherThanSuccessAreFailures) {
    http::status code{};
    std::string wait;
    hook_receiver receiver([&](http::request&, const std::string&) {
        http::response response = http::response::text("sorry", code);
        if (!wait.empty()) {
            response.headers().set("Retry-After", wait);
        }
        if (code == http::status::found) {
            response.headers().set("Location", "/elsewhere");
        }
        return response;
    });
    service::http_delivery delivery({}, with_loopback());
    auto run = [&](service::job& job) { return delivery.deliver(job); };
    const auto task = task_with(payload_to(receiver.url()));
    code = http::status::internal_server_error;
    const std::string broken = co_await outcome_of(task, run);
    EXPECT_EQ(broken, "failed: POST " + receiver.url() + ": 500 sorry");
    code = http::status::found;
    const std::string redirected = co_await outcome_of(task, run);
    EXPECT_EQ(redirected, "failed: POST " + receiver.url() + ": 302 sorry");
    code = http::status::gone;
    const std::string gone = co_await outcome_of(task, run);
    EXPECT_EQ(gone, "for good: POST " + receiver.url() + ": 410 sorry");
    EXPECT_EQ(receiver.requests, 3);
    code = http::status::too_many_requests;
    wait = "7";
    const std::string slower = co_await outcome_of(task, run);
    EXPECT_EQ(slower, "after 7000 ms: POST " + receiver.url() + ": 429 sorry");
    // A host must not delay tasks without a bound, for example by a century.
    wait = "99999999999999";
    const std::string latest = co_await outcome_of(task, run);
    EXPECT_EQ(latest, "after 86400000 ms: POST " + receiver.url() + ": 429 sorry");
    co_await receiver.stop();
}

// An endpoint that is gone is reported by its URL without what belongs to one message.
WEIR_IO_TEST(HttpDelivery, AGoneEndpointIsReported) {
    http::status code = http::status::gone;
    hook_receiver receiver(
        [&](http::request&, const std::string&) { return http::response::text("sorry", code); });
    service::http_delivery delivery({}, with_loopback());
    const auto task = task_with(payload_to(receiver.url() + "?id=1"));
    for (const bool is_gone : {true, false}) {
        code = is_gone ? http::status::gone : http::status::not_found;
        service::job current(task);
        bool has_failed = false;
        try {
            co_await delivery.deliver(current);
        } catch (const std::runtime_error&) {
            has_failed = true;
        }
        EXPECT_TRUE(has_failed);
        EXPECT_EQ(current.is_gone(), is_gone);
    }
    const service::destination_rule rule = delivery.destinations();
    const auto endpoint_of = [&](const std::string& url) {
        return rule.endpoint_of(http::parse_json(payload_to(url)));
    };
    EXPECT_EQ(endpoint_of("https://me:secret@Example.com/a?id=1#x"), "https://example.com/a");
    EXPECT_EQ(endpoint_of("https://example.com"), "https://example.com/");
    co_await receiver.stop();
}

// Receivers often take a password from the query; errors are in lists and on the dashboard.
WEIR_IO_TEST(HttpDelivery, ErrorsShowNoSecrets) {
    int count = 0;
    hook_receiver receiver([&](http::request& request, const std::string&) {
        ++count;
        EXPECT_EQ(request.query_string(), "token=hidden");
        http::response response =
            http::response::text("sorry", count == 1   ? http::status::gone
                                          : count == 2 ? http::status::bad_gateway
                                                       : http::status::ok);
        if (count > 2) {
            response.headers().set("Content-Encoding", "gzip");  // which it is not
        }
        return response;
    });
    service::http_delivery delivery({}, with_loopback());
    auto run = [&](service::job& job) { return delivery.deliver(job); };
    const std::string url = receiver.url();
    std::string with_user = url + "?token=hidden";
    with_user.insert(std::string_view("http://").size(), "me:hidden@");
    const auto task = task_with(payload_to(
        with_user,
        R"(, "headers": {"Authorization": "hidden", "X-Key": "hidden"}, "body": "hidden")"));
    const std::string gone = co_await outcome_of(task, run);
    EXPECT_EQ(gone, "for good: POST " + url + "?...: 410 sorry");
    const std::string bad = co_await outcome_of(task, run);
    EXPECT_EQ(bad, "failed: POST " + url + "?...: 502 sorry");
    const std::string broken = co_await outcome_of(task, run);
    EXPECT_EQ(broken.substr(0, 17 + url.size()), "failed: POST " + url + "?...") << broken;
    EXPECT_EQ(count, 3);
    co_await receiver.stop();
    const std::string away = co_await outcome_of(task, run);
    EXPECT_EQ(away.substr(0, 13 + url.size()), "failed: POST " + url) << away;
    service::http_delivery outside;
    auto run_outside = [&](service::job& job) { return outside.deliver(job); };
    const std::string inside = co_await outcome_of(task, run_outside);
    EXPECT_EQ(inside.substr(0, 9), "for good:") << inside;
    for (const std::string& each : {gone, bad, broken, away, inside}) {
        EXPECT_EQ(each.find("hidden"), std::string::npos) << each;
    }
}

// The time limit of a request is its own; the options have the default.
WEIR_IO_TEST(HttpDelivery, ARequestMayAskForMoreTime) {
    io::listener listener = io::listen(io::address::loopback(0));
    const std::string url = "http://" + listener.local_address().text() + "/slow";
    auto slow = [](http::request&) -> weir::task<http::response> {
        co_await weir::sleep(300ms);
        co_return http::response::text("at last");
    };
    auto running = weir::spawn(http::serve(std::move(listener), slow));
    service::http_delivery delivery({.timeout = 100ms}, with_loopback());
    auto run = [&](service::job& job) { return delivery.deliver(job); };
    const auto plain = task_with(payload_to(url));
    const std::string late = co_await outcome_of(plain, run);
    EXPECT_EQ(late.substr(0, 7), "failed:") << late;
    EXPECT_NE(late.find("timed out"), std::string::npos) << late;
    const auto patient = task_with(payload_to(url, R"(, "timeout": 60)"));
    const std::string outcome = co_await outcome_of(patient, run);
    EXPECT_NE(outcome.find("at last"), std::string::npos) << outcome;
    running.cancel();
    co_await running.wait();
    const service::http_delivery_options bad{.timeout = 0s};
    EXPECT_THROW(service::http_delivery refused(bad), weir::invalid_argument);
}

// What a run reports about its host, which the store keeps.
WEIR_IO_TEST(HttpDelivery, ReportsHowTheHostBehaved) {
    using outcome = service::destination_outcome;
    http::status code{};
    std::string wait;
    hook_receiver receiver([&](http::request&, const std::string&) {
        http::response response = http::response::text("", code);
        if (!wait.empty()) {
            response.headers().set("Retry-After", wait);
        }
        return response;
    });
    service::http_delivery delivery({.max_pause = 60s}, with_loopback());
    const auto task = task_with(payload_to(receiver.url()));
    struct expectation {
        http::status code;
        const char* wait;
        outcome reported;
        std::chrono::milliseconds pause;
    };
    const expectation all[] = {
        {http::status::ok, "", outcome::answered, 0ms},
        {http::status::not_found, "", outcome::answered, 0ms},
        {http::status::internal_server_error, "", outcome::answered, 0ms},
        {http::status::bad_gateway, "", outcome::failed, 0ms},
        {http::status::service_unavailable, "7", outcome::failed, 7000ms},
        {http::status::service_unavailable, "86400", outcome::failed, 60000ms},
        {http::status::too_many_requests, "", outcome::failed, 0ms},
        {http::status::too_many_requests, "2", outcome::answered, 2000ms},
        {http::status::not_found, "2", outcome::answered, 0ms},
    };
    for (const expectation& each : all) {
        code = each.code;
        wait = each.wait;
        service::job job(task);
        try {
            static_cast<void>(co_await delivery.deliver(job));
        } catch (const std::exception&) {
            EXPECT_NE(each.code, http::status::ok);
        }
        EXPECT_EQ(job.outcome(), each.reported) << static_cast<int>(each.code) << each.wait;
        EXPECT_EQ(job.requested_pause(), each.pause) << static_cast<int>(each.code) << each.wait;
    }
    co_await receiver.stop();
    service::job unanswered(task);
    EXPECT_THROW(static_cast<void>(co_await delivery.deliver(unanswered)), std::runtime_error);
    EXPECT_EQ(unanswered.outcome(), outcome::failed);
    // An address that is refused says nothing about the host.
    service::http_delivery outside;
    service::job refused(task);
    EXPECT_THROW(static_cast<void>(co_await outside.deliver(refused)), service::permanent_failure);
    EXPECT_EQ(refused.outcome(), outcome::unknown);
}

// Scheme, host and port, however the URL spells them.
TEST(HttpDeliveryDestination, IsTheOrigin) {
    const auto destination = [](std::string_view url) {
        const service::destination_rule rule =
            weir::run([]() -> weir::task<service::destination_rule> {
                const service::http_delivery delivery;
                co_return delivery.destinations();
            }());
        return rule.name_of(http::parse_json("{\"url\": \"" + std::string(url) + "\"}"));
    };
    EXPECT_EQ(destination("https://Example.com/a?b#c"), "https://example.com");
    EXPECT_EQ(destination("https://me:secret@example.com:443/"), "https://example.com");
    EXPECT_EQ(destination("https://example.com.:8443/"), "https://example.com:8443");
    EXPECT_EQ(destination("http://example.com/"), "http://example.com");
    EXPECT_EQ(destination("http://[::1]:8080/"), "http://[::1]:8080");
}

WEIR_IO_TEST(HttpDelivery, LargeAndStrangeAnswersAreCut) {
    std::string body;
    hook_receiver receiver(
        [&](http::request&, const std::string&) { return http::response::text(body); });
    service::http_delivery delivery({.max_answer_bytes = 10}, with_loopback());
    auto run = [&](service::job& job) { return delivery.deliver(job); };
    const auto task = task_with(payload_to(receiver.url()));
    body = "123456789\xc3\xa4 and more";  // cut inside the letter
    const std::string cut = co_await outcome_of(task, run);
    EXPECT_NE(cut.find(R"("body":"123456789","truncated":true)"), std::string::npos) << cut;
    body = "\xff\xfe\xff";
    const std::string binary = co_await outcome_of(task, run);
    EXPECT_EQ(binary.find("\"body\""), std::string::npos) << binary;
    body = std::string(5'000'000, 'x');
    const std::string large = co_await outcome_of(task, run);
    EXPECT_NE(large.find(R"("body":"xxxxxxxxxx","truncated":true)"), std::string::npos) << large;
    co_await receiver.stop();
}

TEST(HttpDelivery, TimeoutsMayBeShorterThanASecond) {
    for (const char* const each : {"0.05", "1", "3600"}) {
        EXPECT_NO_THROW(service::http_delivery::check(http::parse_json(
            R"({"url": "http://127.0.0.1/", "timeout": )" + std::string(each) + "}")))
            << each;
    }
    for (const char* const each : {"0", "3600.1"}) {
        EXPECT_THROW(service::http_delivery::check(http::parse_json(
                         R"({"url": "http://127.0.0.1/", "timeout": )" + std::string(each) + "}")),
                     service::permanent_failure)
            << each;
    }
}

WEIR_IO_TEST(HttpDelivery, RefusesWhatCannotBeDelivered) {
    service::http_delivery delivery;
    auto run = [&](service::job& job) { return delivery.deliver(job); };
    for (const char* bad :
         {"null", "[]", "{}", R"({"url": 1})", R"({"url": ""})", R"({"url": "ftp://127.0.0.1/"})",
          R"({"url": "http://127.0.0.1/", "method": "A B"})",
          R"({"url": "http://127.0.0.1/", "headers": {"a": 1}})",
          R"({"url": "http://127.0.0.1/", "headers": {"a\n": "1"}})",
          R"({"url": "http://127.0.0.1/", "timeout": -1})",
          R"({"url": "http://127.0.0.1/", "more": 1})",
          // Not public.
          R"({"url": "http://127.0.0.1:1/"})", R"({"url": "http://[::1]:1/"})",
          R"({"url": "http://2130706433:1/"})", R"({"url": "http://169.254.169.254/"})",
          R"({"url": "http://localhost:1/"})", R"({"url": "http://[64:ff9b::7f00:1]/"})"}) {
        const auto task = task_with(bad);
        const std::string outcome = co_await outcome_of(task, run);
        EXPECT_EQ(outcome.substr(0, 9), "for good:") << bad << " -> " << outcome;
    }
    // A payload that could frame its request could inject another one into a connection that other
    // tasks share.
    for (const char* name : {"Content-Length", "transfer-encoding", "Host", "Connection", "TE",
                             "Upgrade", "Expect", "Trailer", "Keep-Alive", "Proxy-Authorization"}) {
        const auto task = task_with(R"({"url": "http://127.0.0.1/", "body": "x", "headers": {")" +
                                    std::string(name) + R"(": "5"}})");
        const std::string outcome = co_await outcome_of(task, run);
        EXPECT_EQ(outcome, "for good: http: the header '" + std::string(name) +
                               "' cannot be chosen: it belongs to the connection");
    }
    // Passwords of URLs stay out of messages.
    const auto secret = task_with(R"({"url": "http://me:hidden@127.0.0.1:1/"})");
    const std::string outcome = co_await outcome_of(secret, run);
    EXPECT_EQ(outcome.find("hidden"), std::string::npos) << outcome;
}
