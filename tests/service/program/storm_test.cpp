// SPDX-License-Identifier: MIT
// Many deliveries to a host that is slow, limited or down, and some to a healthy one on another
// port: by `weir serve`, with servers on loopback.

#include "support.hpp"

#include <weir/http/client.hpp>
#include <weir/http/json.hpp>
#include <weir/http/server.hpp>
#include <weir/io/listener.hpp>
#include <weir/run.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>

namespace weir_test {
namespace {

using namespace std::chrono_literals;
namespace http = weir::http;
namespace io = weir::io;
namespace json = boost::json;

// A receiver of deliveries that answers each after a while, or not at all.
class delay_server {
public:
    delay_server(weir::clock::duration delay, http::status code, std::string retry_after = "")
        : delay_(delay), code_(code), retry_after_(std::move(retry_after)) {
        io::listener listener = io::listen(io::address::loopback(0));
        url = "http://" + listener.local_address().text() + "/";
        running_ = weir::spawn(http::serve(
            std::move(listener), [this](http::request& request) -> weir::task<http::response> {
                static_cast<void>(co_await request.text());
                ++requests;
                co_await weir::sleep(delay_);
                http::response answer = http::response::text("", code_);
                if (!retry_after_.empty()) {
                    answer.headers().set("Retry-After", retry_after_);
                }
                co_return answer;
            }));
    }
    weir::task<> stop() {
        running_.cancel();
        co_await running_.wait();
    }

    std::string url;
    std::size_t requests = 0;

private:
    weir::clock::duration delay_;
    http::status code_;
    std::string retry_after_;
    weir::handle<> running_;
};

// A service and its API.
class storm_service {
public:
    storm_service() : program_({"--allow-address", "127.0.0.0/8", "--drain", "0.1"}) {}

    weir::task<> submit(std::string to, int count) {
        constexpr int max_batch = 1000;
        for (; count > 0; count -= max_batch) {
            json::array tasks;
            for (int i = 0; i < std::min(count, max_batch); ++i) {
                tasks.push_back(json::object{{"kind", "http"}, {"payload", {{"url", to}}}});
            }
            json::object batch;
            batch["tasks"] = std::move(tasks);
            const std::string url = program_.url + "/tasks/batch";
            const std::string body = http::to_json(batch);
            http::client_response answer = co_await client_.post(url, body, "application/json");
            EXPECT_EQ(static_cast<int>(answer.status()), 200);
            static_cast<void>(co_await answer.text());
        }
    }
    weir::task<json::value> get(std::string path) {
        http::client_response answer = co_await client_.get(program_.url + path);
        const std::string text = co_await answer.text();
        co_return http::parse_json(text);
    }
    weir::task<std::int64_t> stat(std::string name) {
        const json::value stats = co_await get("/stats");
        co_return stats.at(name).to_number<std::int64_t>();
    }
    // Until so many tasks have completed.
    weir::task<> wait_for_completed(std::int64_t count) {
        for (;;) {
            const std::int64_t completed = co_await stat("completed");
            if (completed >= count) {
                co_return;
            }
            co_await weir::sleep(20ms);
        }
    }
    // Written to files, in bytes.
    std::int64_t written() const {
        std::ifstream file("/proc/" + std::to_string(program_.pid()) + "/io");
        std::string name;
        std::int64_t value = 0;
        while (file >> name >> value) {
            if (name == "wchar:") {
                return value;
            }
        }
        return -1;
    }
    // Processor time of all threads, in seconds.
    double processor_time() const {
        double all = 0;
        const std::string tasks = "/proc/" + std::to_string(program_.pid()) + "/task";
        for (const auto& each : std::filesystem::directory_iterator(tasks)) {
            std::ifstream file(each.path() / "schedstat");
            double nanoseconds = 0;
            file >> nanoseconds;
            all += nanoseconds / 1e9;
        }
        return all;
    }
    void end() { program_.end(); }

private:
    serving program_;
    http::client client_;
};

constexpr int storm_size = 5000;
constexpr std::int64_t host_concurrency = 16;

weir::task<> storm_of_slow_host() {
    delay_server slow(1s, http::status::ok);
    delay_server healthy(0s, http::status::ok);
    storm_service service;
    co_await service.submit(slow.url, storm_size);
    const auto begin = weir::now();
    co_await service.submit(healthy.url, 100);
    // 50 a second is the limit of a host, after a burst of 50; the slow one completes few.
    while (healthy.requests < 100) {
        co_await weir::sleep(10ms);
    }
    const auto took = weir::now() - begin;
    EXPECT_LT(took, 2s + 3s) << "a busy machine may add to the two seconds";
    co_await weir::sleep(2s);
    const json::value stats = co_await service.get("/stats");
    const auto begun = stats.at("started").to_number<std::int64_t>();
    const auto completed = stats.at("completed").to_number<std::int64_t>();
    EXPECT_GT(completed, 100);
    EXPECT_LE(begun, completed + host_concurrency + (completed + host_concurrency) / 100);
    EXPECT_LT(service.written(), 20'000'000);
    service.end();
    co_await slow.stop();
    co_await healthy.stop();
}
TEST(ProgramStorm, ASlowHostCostsLittleAndDelaysNobody) {
    weir::run(in_time(storm_of_slow_host()));
}

// 200 tasks to a port that refuses connections once held up a service on another port.
weir::task<> storm_of_dead_host() {
    delay_server gone(0s, http::status::ok);
    co_await gone.stop();
    delay_server healthy(0s, http::status::ok);
    storm_service service;
    co_await service.submit(gone.url, 2000);
    co_await service.submit(healthy.url, 40);
    co_await service.wait_for_completed(40);
    co_await weir::sleep(1s);
    const std::int64_t begun = co_await service.stat("started");
    EXPECT_GE(begun, 40 + 10);
    EXPECT_LE(begun, 40 + 10 + host_concurrency) << "the circuit is open for 30 seconds";
    const json::value page = co_await service.get("/tasks?state=pending&limit=1");
    const std::string id(page.at("tasks").at(0).at("id").as_string());
    const json::value why = co_await service.get("/tasks/" + id + "/why");
    EXPECT_EQ(why.at("reasons").at(0).at("reason"), "destination_circuit") << http::to_json(why);
    EXPECT_FALSE(why.at("reasons").at(0).at("until").is_null());
    // Waiting costs nothing: no write, hardly any processor time.
    const std::int64_t written = service.written();
    const double used = service.processor_time();
    co_await weir::sleep(2s);
    EXPECT_LT(service.written() - written, 300'000);  // heartbeats and answers
    EXPECT_LT(service.processor_time() - used, 0.5);
    service.end();
    co_await healthy.stop();
}
TEST(ProgramStorm, AHostThatIsDownGetsTrialsOnly) {
    weir::run(in_time(storm_of_dead_host()));
}

weir::task<> storm_of_limited_host() {
    delay_server limited(0s, http::status::too_many_requests, "3600");
    storm_service service;
    co_await service.submit(limited.url, 1000);
    while (limited.requests == 0) {
        co_await weir::sleep(10ms);
    }
    co_await weir::sleep(1s);
    EXPECT_LE(limited.requests, static_cast<std::size_t>(host_concurrency) + 4);
    const json::value stats = co_await service.get("/stats");
    const json::value& host = stats.at("hosts").at(0);
    EXPECT_EQ(host.at("circuit"), "closed");
    EXPECT_GT(host.at("retry_after").to_number<double>(), 3000);
    service.end();
    co_await limited.stop();
}
TEST(ProgramStorm, RetryAfterPausesTheHost) {
    weir::run(in_time(storm_of_limited_host()));
}

}  // namespace
}  // namespace weir_test
