// SPDX-License-Identifier: MIT
// The built-in handlers, each run as the service runs it: with a job, on a real loop.

#include <support/io.hpp>

#include <weir/cancel.hpp>
#include <weir/error.hpp>
#include <weir/http/json.hpp>
#include <weir/http/server.hpp>
#include <weir/io/listener.hpp>
#include <weir/outcome.hpp>
#include <weir/service/handlers/exec.hpp>
#include <weir/service/handlers/http_delivery.hpp>
#include <weir/service/handlers/trial.hpp>
#include <weir/service/handlers/webhook_signature.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

using namespace std::chrono_literals;
namespace http = weir::http;
namespace io = weir::io;
namespace service = weir::service;
namespace json = boost::json;

namespace {

service::task_record task_with(std::string payload) {
    service::task_record task;
    task.id = service::next_id({}, 1'790'000'000'000);
    task.kind = "tried";
    task.payload = std::move(payload);
    return task;
}

// What a handler made of it: the result's text, or the error and its kind.
template <class Handler>
weir::task<std::string> ended(const service::task_record& task, Handler& run) {
    service::job job(task);
    try {
        const json::value result = co_await run(job);
        co_return http::to_json(result);
    } catch (const service::permanent_failure& error) {
        co_return std::string("for good: ") + error.what();
    } catch (const service::retry_later& error) {
        co_return "after " + std::to_string(error.least().count()) + " ms: " + error.what();
    } catch (const service::postponed& error) {
        co_return std::string("postponed: ") + error.what();
    } catch (const std::exception& error) {
        co_return std::string("failed: ") + error.what();
    }
}

// A receiver on loopback.
class receiver {
public:
    using answer = std::function<http::response(http::request&, const std::string&)>;
    explicit receiver(answer given) : answer_(std::move(given)) {
        io::listener door = io::listen(io::address::loopback(0));
        port_ = door.local_address().port();
        running_ = weir::spawn(http::serve(
            std::move(door), [this](http::request& asked) -> weir::task<http::response> {
                const std::string body = co_await asked.text();
                ++requests;
                co_return answer_(asked, body);
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

// The example of the specification.
TEST(WebhookSignature, IsTheSpecifications) {
    const auto key = service::webhook_key::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    EXPECT_EQ(key.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, R"({"test": 2432232314})"),
              "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

TEST(WebhookSignature, IsCheckedByReceivers) {
    const std::vector<service::webhook_key> keys = {
        service::webhook_key::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
        service::webhook_key::parse("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD")};
    const std::chrono::sys_seconds now{1614265330s};
    const std::string both = service::sign_webhook(keys, "id", 1614265330, "body");
    EXPECT_EQ(both.find("v1,"), 0U);
    EXPECT_NE(both.find(" v1,"), std::string::npos);
    const auto is_signed = [&](std::string_view time, std::string_view signatures,
                               std::string_view body) {
        return service::is_signed(std::span(keys).last(1), "id", time, signatures, body, now);
    };
    EXPECT_TRUE(is_signed("1614265330", both, "body"));
    EXPECT_FALSE(is_signed("1614265330", both, "Body"));
    EXPECT_FALSE(is_signed("1614265331", both, "body"));
    EXPECT_FALSE(is_signed("x", both, "body"));
    EXPECT_FALSE(is_signed("", "", ""));
    const std::string old = service::sign_webhook(keys, "id", 1614265330 - 301, "body");
    EXPECT_FALSE(is_signed(std::to_string(1614265330 - 301), old, "body"));
    for (const char* bad :
         {"", "whsec_", "whsec_AAAA", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
          "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS", "whsec_*fKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}) {
        try {
            static_cast<void>(service::webhook_key::parse(bad));
            ADD_FAILURE() << bad;
        } catch (const weir::invalid_argument& error) {
            // Keys are secret, also broken ones.
            EXPECT_TRUE(std::string_view(bad).size() < 8 ||
                        std::string_view(error.what()).find(std::string_view(bad).substr(6)) ==
                            std::string_view::npos);
        }
    }
}

WEIR_IO_TEST(HttpDelivery, DeliversAndKeepsTheAnswer) {
    const std::vector<service::webhook_key> keys = {
        service::webhook_key::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")};
    std::vector<std::string> seen;
    receiver there([&](http::request& asked, const std::string& body) {
        const bool is_good =
            service::is_signed(keys, asked.header("webhook-id"), asked.header("webhook-timestamp"),
                               asked.header("webhook-signature"), body);
        seen.push_back(std::string(asked.method_name()) + " " +
                       std::string(asked.header("Content-Type")) + " " + body + " " +
                       std::string(asked.header("x-mine")) + (is_good ? " signed" : " NOT signed"));
        return http::response::text("thanks");
    });
    service::http_delivery delivery({}, with_loopback(), keys);
    auto run = [&](service::job& job) { return delivery.deliver(job); };
    const auto object =
        task_with(payload_to(there.url(), R"(, "body": {"a": 1}, "headers": {"X-Mine": "yes"})"));
    const std::string first = co_await ended(object, run);
    EXPECT_EQ(
        first,
        R"({"status":200,"content_type":"text/plain; charset=utf-8","body":"thanks","truncated":false})");
    const auto text = task_with(payload_to(there.url(), R"(, "body": "plain", "method": "PUT")"));
    const std::string second = co_await ended(text, run);
    EXPECT_EQ(second.substr(0, 13), R"({"status":200)");
    const std::vector<std::string> expected = {R"(POST application/json {"a":1} yes signed)",
                                               "PUT text/plain; charset=utf-8 plain  signed"};
    EXPECT_EQ(seen, expected);
    co_await there.stop();
}

WEIR_IO_TEST(HttpDelivery, AnswersOtherThanSuccessAreFailures) {
    http::status code{};
    std::string wait;
    receiver there([&](http::request&, const std::string&) {
        http::response made = http::response::text("sorry", code);
        if (!wait.empty()) {
            made.headers().set("Retry-After", wait);
        }
        if (code == http::status::found) {
            made.headers().set("Location", "/elsewhere");
        }
        return made;
    });
    service::http_delivery delivery({.hosts = {.consecutive_failures = 0}}, with_loopback());
    auto run = [&](service::job& job) { return delivery.deliver(job); };
    const auto task = task_with(payload_to(there.url()));
    code = http::status::internal_server_error;
    const std::string broken = co_await ended(task, run);
    EXPECT_EQ(broken, "failed: POST " + there.url() + ": 500 sorry");
    code = http::status::found;
    const std::string redirected = co_await ended(task, run);
    EXPECT_EQ(redirected, "failed: POST " + there.url() + ": 302 sorry");
    code = http::status::gone;
    const std::string gone = co_await ended(task, run);
    EXPECT_EQ(gone, "for good: POST " + there.url() + ": 410 sorry");
    EXPECT_EQ(there.requests, 3);
    code = http::status::too_many_requests;
    wait = "7";
    const std::string slower = co_await ended(task, run);
    EXPECT_EQ(slower, "after 7000 ms: POST " + there.url() + ": 429 sorry");
    // The host has asked to be left alone: whoever comes now is not sent, and spends no attempt.
    const std::string held = co_await ended(task, run);
    EXPECT_EQ(held.substr(0, 20), "postponed: 127.0.0.1") << held;
    EXPECT_EQ(there.requests, 4);
    // Nobody puts our tasks off for good: not by a century, either.
    service::http_delivery patient({.hosts = {.consecutive_failures = 0}}, with_loopback());
    auto run_again = [&](service::job& job) { return patient.deliver(job); };
    wait = "99999999999999";
    const std::string latest = co_await ended(task, run_again);
    EXPECT_EQ(latest, "after 86400000 ms: POST " + there.url() + ": 429 sorry");
    co_await there.stop();
}

// Receivers often take a password from the query; errors are in lists and on the dashboard.
WEIR_IO_TEST(HttpDelivery, ErrorsShowNoSecrets) {
    int count = 0;
    receiver there([&](http::request& asked, const std::string&) {
        ++count;
        EXPECT_EQ(asked.query_string(), "token=hidden");
        http::response made = http::response::text("sorry", count == 1   ? http::status::gone
                                                            : count == 2 ? http::status::bad_gateway
                                                                         : http::status::ok);
        if (count > 2) {
            made.headers().set("Content-Encoding", "gzip");  // which it is not
        }
        return made;
    });
    service::http_delivery delivery({.hosts = {.consecutive_failures = 0}}, with_loopback());
    auto run = [&](service::job& job) { return delivery.deliver(job); };
    const std::string url = there.url();
    std::string with_user = url + "?token=hidden";
    with_user.insert(std::string_view("http://").size(), "me:hidden@");
    const auto task = task_with(payload_to(
        with_user,
        R"(, "headers": {"Authorization": "hidden", "X-Key": "hidden"}, "body": "hidden")"));
    const std::string gone = co_await ended(task, run);
    EXPECT_EQ(gone, "for good: POST " + url + "?...: 410 sorry");
    const std::string bad = co_await ended(task, run);
    EXPECT_EQ(bad, "failed: POST " + url + "?...: 502 sorry");
    const std::string broken = co_await ended(task, run);
    EXPECT_EQ(broken.substr(0, 17 + url.size()), "failed: POST " + url + "?...") << broken;
    EXPECT_EQ(count, 3);
    co_await there.stop();
    const std::string away = co_await ended(task, run);
    EXPECT_EQ(away.substr(0, 13 + url.size()), "failed: POST " + url) << away;
    service::http_delivery outside;
    auto run_outside = [&](service::job& job) { return outside.deliver(job); };
    const std::string inside = co_await ended(task, run_outside);
    EXPECT_EQ(inside.substr(0, 9), "for good:") << inside;
    for (const std::string& each : {gone, bad, broken, away, inside}) {
        EXPECT_EQ(each.find("hidden"), std::string::npos) << each;
    }
}

// The limit of a request is its own; the options have that of those that say nothing.
WEIR_IO_TEST(HttpDelivery, ARequestMayAskForMoreTime) {
    io::listener door = io::listen(io::address::loopback(0));
    const std::string url = "http://" + door.local_address().text() + "/slow";
    auto slow = [](http::request&) -> weir::task<http::response> {
        co_await weir::sleep(300ms);
        co_return http::response::text("at last");
    };
    auto running = weir::spawn(http::serve(std::move(door), slow));
    service::http_delivery delivery(
        {.hosts = {.attempt_timeout = 100ms, .consecutive_failures = 0}}, with_loopback());
    auto run = [&](service::job& job) { return delivery.deliver(job); };
    const auto plain = task_with(payload_to(url));
    const std::string late = co_await ended(plain, run);
    EXPECT_EQ(late.substr(0, 7), "failed:") << late;
    EXPECT_NE(late.find("timed out"), std::string::npos) << late;
    const auto patient = task_with(payload_to(url, R"(, "timeout": 60)"));
    const std::string told = co_await ended(patient, run);
    EXPECT_NE(told.find("at last"), std::string::npos) << told;
    running.cancel();
    co_await running.wait();
    const service::http_delivery_options bad{.hosts = {.attempt_timeout = 0s}};
    EXPECT_THROW(service::http_delivery refused(bad), weir::invalid_argument);
}

WEIR_IO_TEST(HttpDelivery, AnOpenCircuitPostpones) {
    receiver there([&](http::request&, const std::string&) {
        return http::response::text("", http::status::bad_gateway);
    });
    service::http_delivery delivery({.hosts = {.consecutive_failures = 2}}, with_loopback());
    auto run = [&](service::job& job) { return delivery.deliver(job); };
    const auto task = task_with(payload_to(there.url()));
    for (int i = 0; i < 2; ++i) {
        const std::string failed = co_await ended(task, run);
        EXPECT_EQ(failed.substr(0, 7), "failed:");
    }
    const std::string held = co_await ended(task, run);
    EXPECT_NE(held.find("postponed: 127.0.0.1: the circuit is open"), std::string::npos) << held;
    const auto hosts = delivery.hosts().statuses(10);
    WEIR_ASSERT_EQ(hosts.size(), 1U);
    EXPECT_EQ(hosts[0].host, "127.0.0.1");
    EXPECT_EQ(hosts[0].circuit, weir::circuit_state::open);
    EXPECT_EQ(there.requests, 2);
    co_await there.stop();
}

WEIR_IO_TEST(HttpDelivery, LargeAndStrangeAnswersAreCut) {
    std::string body;
    receiver there([&](http::request&, const std::string&) { return http::response::text(body); });
    service::http_delivery delivery({.max_answer_bytes = 10}, with_loopback());
    auto run = [&](service::job& job) { return delivery.deliver(job); };
    const auto task = task_with(payload_to(there.url()));
    body = "123456789\xc3\xa4 and more";  // cut inside the letter
    const std::string cut = co_await ended(task, run);
    EXPECT_NE(cut.find(R"("body":"123456789","truncated":true)"), std::string::npos) << cut;
    body = "\xff\xfe\xff";
    const std::string binary = co_await ended(task, run);
    EXPECT_EQ(binary.find("\"body\""), std::string::npos) << binary;
    body = std::string(5'000'000, 'x');
    const std::string large = co_await ended(task, run);
    EXPECT_NE(large.find(R"("body":"xxxxxxxxxx","truncated":true)"), std::string::npos) << large;
    co_await there.stop();
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
        const std::string said = co_await ended(task, run);
        EXPECT_EQ(said.substr(0, 9), "for good:") << bad << " -> " << said;
    }
    // Whoever says where a request ends could put another one behind it, on a connection that
    // others use.
    for (const char* name : {"Content-Length", "transfer-encoding", "Host", "Connection", "TE",
                             "Upgrade", "Expect", "Trailer", "Keep-Alive", "Proxy-Authorization"}) {
        const auto task = task_with(R"({"url": "http://127.0.0.1/", "body": "x", "headers": {")" +
                                    std::string(name) + R"(": "5"}})");
        const std::string said = co_await ended(task, run);
        EXPECT_EQ(said, "for good: http: the header '" + std::string(name) +
                            "' cannot be chosen: it belongs to the connection");
    }
    // Passwords of URLs stay out of messages.
    const auto secret = task_with(R"({"url": "http://me:hidden@127.0.0.1:1/"})");
    const std::string said = co_await ended(secret, run);
    EXPECT_EQ(said.find("hidden"), std::string::npos) << said;
}

WEIR_IO_TEST(Exec, RunsWhatIsAllowed) {
    service::exec_commands commands;
    commands.allow("cat", {.command = {"/bin/cat"}})
        .allow("task", {.command = {"/bin/sh", "-c", "printf '%s %s' $WEIR_TASK_ID $WEIR_ATTEMPT"}})
        .allow("words", {.command = {"/bin/echo"}, .takes_arguments = true})
        .allow("fails", {.command = {"/bin/sh", "-c", "echo bad luck >&2; exit 3"}})
        .allow("in_vain", {.command = {"/bin/sh", "-c", "exit 100"}})
        .allow("large",
               {.command = {"/bin/sh", "-c", "head -c 100000 /dev/zero"}, .max_output = 1000})
        .allow("missing", {.command = {"/nowhere/to/be/found"}});
    auto run = [&](service::job& job) { return commands.run(job); };
    const std::vector<std::pair<const char*, std::string>> cases = {
        {R"({"command": "cat", "input": {"a": [1, "ä"]}})", R"({"output":{"a":[1,"ä"]}})"},
        {R"({"command": "cat"})", R"({"output":null})"},
        {R"({"command": "task"})", R"({"output":")" + task_with("").id.text() + R"( 1"})"},
        {R"({"command": "words", "arguments": ["$HOME; ls", "b"]})", R"({"output":"$HOME; ls b"})"},
        {R"({"command": "fails"})", "failed: exec: 'fails' exited with code 3: bad luck"},
        {R"({"command": "in_vain"})", "for good: exec: 'in_vain' exited with code 100"},
        {R"({"command": "large"})", "for good: exec: 'large' printed more than 1000 bytes"},
        {R"({"command": "cat", "arguments": ["/etc/passwd"]})",
         "for good: exec: the command 'cat' takes no arguments from tasks"},
        {R"({"command": "rm"})",
         "for good: exec: the command 'rm' is not allowed by the configuration"},
        {R"({"command": 1})",
         "for good: exec: the member command is not known or of another type; there are command"
         " (a text), input, arguments (a list of texts)"},
    };
    for (const auto& [payload, expected] : cases) {
        const auto task = task_with(payload);
        const std::string said = co_await ended(task, run);
        EXPECT_EQ(said, expected) << payload;
    }
    const auto missing = task_with(R"({"command": "missing"})");
    const std::string said = co_await ended(missing, run);
    EXPECT_NE(said.find("/nowhere/to/be/found"), std::string::npos) << said;
    EXPECT_THROW(commands.allow("cat", {.command = {"/bin/cat"}}), weir::invalid_argument);
    EXPECT_THROW(commands.allow("none", {}), weir::invalid_argument);
}

WEIR_IO_TEST(Exec, StoppingEndsTheProgram) {
    service::exec_commands commands;
    commands.allow("long", {.command = {"/bin/sleep", "1000"}});
    const auto task = task_with(R"({"command": "long"})");
    auto run = [&]() -> weir::task<> {
        service::job job(task);
        co_await commands.run(job);
    };
    auto running = weir::spawn(run());
    co_await weir::sleep(20ms);
    running.cancel();
    co_await running.wait();  // and no child is left: the test counts descriptors
    EXPECT_TRUE(running.cancelled());
}

WEIR_TEST(Trials, EchoAndSleep) {
    auto echo = [](service::job& job) { return service::echo(job); };
    auto sleep = [](service::job& job) { return service::sleep_handler(job); };
    const auto said = task_with(R"({"a":[1,2]})");
    const std::string echoed = co_await ended(said, echo);
    EXPECT_EQ(echoed, R"({"a":[1,2]})");
    const auto failing = task_with(R"({"fail":"so"})");
    const std::string failed = co_await ended(failing, echo);
    EXPECT_EQ(failed, "failed: so");
    const auto begun = weir::now();
    const auto nap = task_with(R"({"seconds": 30})");
    const std::string slept = co_await ended(nap, sleep);
    EXPECT_EQ(slept, R"({"slept":30})");
    EXPECT_EQ(weir::now() - begun, 30s);
    for (const char* bad : {"null", "-1", "1e300", R"({"seconds": "a"})", "\"1\""}) {
        const auto task = task_with(bad);
        const std::string refused = co_await ended(task, sleep);
        EXPECT_EQ(refused.substr(0, 16), "for good: sleep:") << bad;
    }
}
