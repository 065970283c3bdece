// SPDX-License-Identifier: MIT
// Helpers for the tests of shared limits: the scripts alone, at times of the test's choice, and a
// decision behind a simulated network that may be slow and may lose answers.
#pragma once

#include "db/redis/limit_scripts.hpp"
#include "db/redis/shared_line.hpp"
#include <support/limiter_properties.hpp>
#include <support/peers/redis.hpp>

#include <weir/db/redis/sliding_window.hpp>
#include <weir/db/redis/token_bucket.hpp>
#include <weir/flow/decision/gcra.hpp>
#include <weir/flow/decision/sliding_log.hpp>
#include <weir/flow/token_bucket.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>

namespace shared_limits {

using namespace limiter_tests;
using std::chrono::microseconds;
using weir::task;
namespace redis = weir::redis;

// A blocking connection, which needs no loop.
class plain_connection {
public:
    explicit plain_connection(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) {
            throw std::runtime_error("redis-server does not answer");
        }
    }
    plain_connection(const plain_connection&) = delete;
    plain_connection& operator=(const plain_connection&) = delete;
    ~plain_connection() { ::close(socket_); }

    // The numbers of the answer, whether it is one or a list of them.
    std::vector<std::int64_t> ask(const std::vector<std::string>& words) {
        std::string text = "*" + std::to_string(words.size()) + "\r\n";
        for (const std::string& each : words) {
            text += "$" + std::to_string(each.size()) + "\r\n" + each + "\r\n";
        }
        if (::send(socket_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
            throw std::runtime_error("send");
        }
        const std::string first = line();
        std::vector<std::int64_t> numbers;
        if (first[0] == '*') {
            for (int left = std::stoi(first.substr(1)); left > 0; --left) {
                numbers.push_back(std::stoll(line().substr(1)));
            }
        } else if (first[0] == ':') {
            numbers.push_back(std::stoll(first.substr(1)));
        } else if (first[0] == '-') {
            throw std::runtime_error(first);
        }
        return numbers;
    }

private:
    std::string line() {
        for (;;) {
            const std::size_t end = received_.find("\r\n");
            if (end != std::string::npos) {
                std::string found = received_.substr(0, end);
                received_.erase(0, end + 2);
                return found;
            }
            char buffer[1024];
            const ssize_t count = ::recv(socket_, buffer, sizeof buffer, 0);
            if (count <= 0) {
                throw std::runtime_error("redis-server has gone");
            }
            received_.append(buffer, static_cast<std::size_t>(count));
        }
    }
    int socket_;
    std::string received_;
};

// A script alone, with the time as an argument and a key of its own.
class script_alone {
public:
    script_alone(plain_connection& at, std::string_view body, std::vector<std::string> terms)
        : at_(at),
          source_(
              "local is_mortal = table.remove(ARGV) == '1' "
              "local now = tonumber(table.remove(ARGV))\n"
              "local function body() " +
              std::string(body) +
              " end\n"
              "local answer = body()\n"
              // The time of the test is not the server's.
              "if not is_mortal then redis.call('PERSIST', KEYS[1]) end\n"
              "return answer"),
          terms_(std::move(terms)) {
        static int count = 0;
        key_ = "alone:" + std::to_string(++count);
        at_.ask({"DEL", key_});
    }

    weir::decision::verdict try_take(time_point now, double weight = 1) {
        const std::int64_t reply = ask(now, {}, {weight}).at(0);
        return {reply == 0, reply < 0 ? weir::refusal::never : microseconds(reply)};
    }
    void give_back(time_point now, double weight, time_point taken) {
        ask(now, {{weight, taken}}, {});
    }
    std::vector<std::int64_t> ask(time_point now,
                                  const std::vector<std::pair<double, time_point>>& refunds,
                                  const std::vector<double>& weights, bool only_look = false) {
        std::vector<std::string> words = {"EVAL", source_, "1", key_};
        words.insert(words.end(), terms_.begin(), terms_.end());
        words.push_back(only_look ? "1" : "0");
        words.push_back(std::to_string(refunds.size()));
        for (const auto& [weight, taken] : refunds) {
            words.push_back(in_words(weight * unit));
            words.push_back(in_microseconds(taken));
        }
        for (const double each : weights) {
            words.push_back(in_words(each * unit));
        }
        words.push_back(in_microseconds(now));
        words.push_back(is_mortal ? "1" : "0");
        std::vector<std::int64_t> reply = at_.ask(words);
        reply.erase(reply.begin());
        return reply;
    }
    std::int64_t expires_in() { return at_.ask({"PTTL", key_}).at(0); }
    const std::string& key() const { return key_; }
    void set_terms(std::vector<std::string> terms) { terms_ = std::move(terms); }

    static std::string in_words(double number) {
        char text[40];
        std::snprintf(text, sizeof text, "%.17g", number);
        return text;
    }
    double unit = 1;         // what a weight of 1 is to the script
    bool is_mortal = false;  // the key goes away when the script says so

private:
    static std::string in_microseconds(time_point when) {
        return std::to_string(
            std::chrono::duration_cast<microseconds>(when.time_since_epoch()).count());
    }
    plain_connection& at_;
    std::string source_;
    std::vector<std::string> terms_;
    std::string key_;
};

inline std::unique_ptr<script_alone> bucket_alone(plain_connection& at, double rate, double burst) {
    return std::make_unique<script_alone>(
        at, redis::detail::token_bucket_script(),
        std::vector{script_alone::in_words(rate / 1e6), script_alone::in_words(burst)});
}
inline std::unique_ptr<script_alone> window_alone(plain_connection& at, double limit,
                                                  microseconds window = 1s) {
    auto result = std::make_unique<script_alone>(
        at, redis::detail::sliding_window_script(),
        std::vector{std::to_string(window.count()), script_alone::in_words(limit * 1e6)});
    result->unit = 1e6;
    return result;
}

// What the network between a limiter and its Redis does.
struct simulated_network {
    duration latency{};   // each way, up to so much, at random
    double losses = 0;    // chance that no answer comes
    double failures = 0;  // chance that the question does not arrive
    bool is_down = false;
    std::mt19937_64 random{1};
    std::vector<grant> taken;  // by the clock of the decision
    int questions = 0;

    bool happens(double chance) {
        return std::uniform_real_distribution<double>(0, 1)(random) < chance;
    }
    duration delay() {
        return latency == 0ns ? 0ns
                              : duration(random() % static_cast<std::uint64_t>(latency.count()));
    }
};

// A local decision with the interface of the scripts.
template <class Decision>
class simulated_decision final : public redis::detail::shared_decision {
public:
    simulated_decision(std::shared_ptr<Decision> shared, simulated_network& over,
                       weir::clock::duration one)
        : shared_(std::move(shared)), over_(over), one_(one) {}

    task<redis::detail::shared_answer> ask(
        const redis::detail::shared_question& question) override {
        ++over_.questions;
        const redis::detail::shared_question copy = question;
        const duration there = over_.delay();
        if (there > 0ns) {
            co_await weir::sleep(there);
        }
        if (over_.is_down || over_.happens(over_.failures)) {
            throw redis::connection_error("lost on the way", weir::db::retry_advice::yes);
        }
        const time_point now = weir::now();
        for (const auto& each : copy.refunds) {
            const time_point taken(duration(each.taken.time_since_epoch()));
            shared_->give_back(now, each.weight, taken);
        }
        redis::detail::shared_answer answer;
        answer.at = redis::server_time(std::chrono::floor<microseconds>(now.time_since_epoch()));
        for (const double each : copy.weights) {
            const auto verdict = shared_->try_take(now, std::abs(each));
            answer.waits.push_back(verdict.granted ? 0ns : verdict.wait);
            if (verdict.granted) {
                over_.taken.push_back({now, std::abs(each), 0});
            } else if (each > 0) {
                break;
            }
        }
        const duration back = over_.delay();
        if (over_.happens(over_.losses)) {
            throw redis::connection_error("lost on the way", weir::db::retry_advice::if_harmless);
        }
        if (back > 0ns) {
            co_await weir::sleep(back);
        }
        co_return answer;
    }
    double capacity() const noexcept override { return shared_->capacity(); }
    weir::clock::duration time_of(double weight) const noexcept override {
        return duration(static_cast<std::int64_t>(weight * static_cast<double>(one_.count())));
    }
    task<weir::admission<weir::let_through>> admit_alone(double weight) override {
        weir::admission<weir::let_through> in = co_await alone_.admit(weight);
        co_return in;
    }
    weir::admission<weir::let_through> try_alone(double weight) override {
        return alone_.try_acquire(weight);
    }

private:
    std::shared_ptr<Decision> shared_;
    simulated_network& over_;
    weir::clock::duration one_;  // how long one takes to flow in
    weir::token_bucket alone_{{.rate = 10, .burst = 1}};
};

class simulated_limiter final : public redis::limiter {
public:
    template <class Decision>
    simulated_limiter(std::shared_ptr<Decision> shared, simulated_network& over,
                      const redis::token_bucket_options& options = {}, duration one = {})
        : limiter(std::make_unique<simulated_decision<Decision>>(std::move(shared), over, one),
                  {.kind = "simulated",
                   .name = "simulated",
                   .max_waiting = options.max_waiting,
                   .max_wait = options.max_wait,
                   .when_away = options.when_away,
                   .timeout = options.timeout,
                   .probe_every = options.probe_every,
                   .observer = options.observer}) {}
};

}  // namespace shared_limits
