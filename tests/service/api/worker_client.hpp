// SPDX-License-Identifier: MIT
// A worker that does what a test says, over the API of a site.
#pragma once

#include "support.hpp"

#include <chrono>
#include <string>

namespace api_test {

class worker {
public:
    explicit worker(site& here) : here_(here) {}

    weir::task<> begin(std::string body = R"({"name": "w", "kinds": ["resize"]})") {
        const answer made = co_await here_.post("/workers", std::move(body));
        EXPECT_EQ(made.code, 201U) << made.text;
        id = made["worker"];
    }
    weir::task<answer> call(std::string what, std::string body) {
        return here_.post("/workers/" + id + "/" + what, std::move(body));
    }
    weir::task<answer> poll(int free = 10, double wait = 0) {
        ++number;
        return repeat(free, wait);
    }
    weir::task<answer> repeat(int free = 10, double wait = 0) {
        return call("poll",
                    bj::serialize(bj::value{{"poll", number}, {"free", free}, {"wait", wait}}));
    }
    // The runs are '{"id":..,"run":..}'.
    weir::task<answer> beat(std::string running = "", int free = 1, double poll_age = 0) {
        return call("heartbeat", R"({"running": [)" + running + R"(], "free": )" +
                                     std::to_string(free) + R"(, "poll_age": )" +
                                     std::to_string(poll_age) + "}");
    }
    weir::task<answer> report(const answer& polled, std::string outcome, std::size_t index = 0) {
        return call("results", "[" + result_of(polled, std::move(outcome), index) + "]");
    }

    static std::string run_of(const answer& polled, std::size_t index = 0) {
        const bj::value& task = polled.json.at("tasks").as_array().at(index);
        return R"({"id": ")" + std::string(task.at("id").as_string()) + R"(", "run": )" +
               bj::serialize(task.at("run")) + "}";
    }
    static std::string result_of(const answer& polled, std::string outcome, std::size_t index = 0) {
        std::string run = run_of(polled, index);
        run.back() = ',';
        return run + outcome + "}";
    }

    std::string id;
    int number = 0;

private:
    site& here_;
};

inline constexpr const char* completed = R"("outcome": "completed", "result": {"w": 100})";

inline bool is_accepted(const answer& verdicts, std::size_t index = 0) {
    return verdicts.json.at(index).at("accepted").as_bool();
}

// The first reason why a task waits.
inline weir::task<std::string> why(site& here, std::string id) {
    const answer reasons = co_await here.get("/tasks/" + id + "/why");
    co_return std::string(reasons.json.at("reasons").as_array().at(0).at("reason").as_string());
}

struct timed {
    timed() = default;
    answer reply;
    weir::clock::duration took{};
};
inline weir::task<timed> in_time(weir::task<answer> asked) {
    timed done;
    const weir::clock::time_point begun = weir::now();
    done.reply = co_await std::move(asked);
    done.took = weir::now() - begun;
    co_return done;
}

}  // namespace api_test
