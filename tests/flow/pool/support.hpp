// SPDX-License-Identifier: MIT
// Helpers for the tests of the pool: a server that knows its connections and their users, and
// random choices drawn from the seed of the running schedule.
#pragma once

#include "support/schedules.hpp"

#include <weir/flow/pool.hpp>
#include <weir/testing/testing.hpp>

#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace pool_tests {

using namespace std::chrono_literals;
using weir::handle;
using weir::pool_stats;
using weir::task;
using weir::testing::advance;
using weir::testing::settle_all;

class dice {
public:
    explicit dice(std::uint64_t seed = weir::testing::current_seed()) : random_(seed * 7919 + 1) {}
    int below(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }
    bool one_in(int count) { return count > 0 && below(count) == 0; }
    // A little time: none, a turn of the loop, or some milliseconds.
    task<> pause(int most = 3) {
        const int choice = below(4);
        if (choice == 1) {
            co_await weir::yield();
        } else if (choice > 1) {
            co_await weir::sleep(std::chrono::milliseconds(below(most)));
        }
    }

private:
    std::mt19937 random_;
};

struct connect_error : std::runtime_error {
    connect_error() : std::runtime_error("no route to the server") {}
};

class server;

// Counted by the server from the first attempt to connect until it is gone.
class connection {
public:
    explicit connection(server& at);
    connection(connection&& other) noexcept
        : id(other.id), at_(std::exchange(other.at_, nullptr)) {}
    connection& operator=(connection&&) = delete;
    ~connection();

    int id;
    server* at() const noexcept { return at_; }

private:
    server* at_;
};

class server {
public:
    int open = 0;       // connections now, half-open ones included
    int most_open = 0;  // at any time
    int connects = 0;   // attempts
    int checks = 0;
    int resets = 0;
    int closes = 0;  // orderly ones
    int next_id = 1;
    bool is_down = false;  // connects fail
    weir::clock::duration connect_time = 0s;
    weir::clock::duration check_time = 0s;
    dice* random = nullptr;    // if there are: connects and checks take time, and fail now and then
    std::set<int> broken;      // they fail their check
    std::map<int, int> users;  // of each connection, now
    std::vector<std::string> violations;

    task<connection> connect() {
        ++connects;
        connection made(*this);
        if (connect_time > 0s) {
            co_await weir::sleep(connect_time);
        }
        if (random != nullptr) {
            co_await random->pause();
        }
        if (is_down || (random != nullptr && random->one_in(5))) {
            throw connect_error();
        }
        co_return made;
    }
    task<bool> check(connection& one) {
        ++checks;
        if (check_time > 0s) {
            co_await weir::sleep(check_time);
        }
        if (random != nullptr) {
            co_await random->pause();
        }
        if (random != nullptr && random->one_in(8)) {
            throw std::runtime_error("the check failed");
        }
        co_return !broken.contains(one.id);
    }
    task<> close(connection&) {
        ++closes;
        co_return;
    }
    weir::pool_functions<connection> functions() {
        return {.connect = [this] { return connect(); },
                .check = [this](connection& one) { return check(one); },
                .reset = {},
                .close = [this](connection& one) { return close(one); }};
    }
};

inline connection::connection(server& at) : id(at.next_id++), at_(&at) {
    at.most_open = std::max(at.most_open, ++at.open);
}
inline connection::~connection() {
    if (at_ != nullptr) {
        --at_->open;
        if (at_->users[id] != 0) {
            at_->violations.emplace_back("a connection was destroyed while somebody used it");
        }
    }
}

inline weir::pool_functions<connection> only_connect(server& at) {
    return {.connect = [&at] { return at.connect(); }};
}

// Marks the connection as used, during its lifetime.
class use {
public:
    explicit use(connection& used) : at_(*used.at()), id_(used.id) {
        if (++at_.users[id_] > 1) {
            at_.violations.push_back("connection " + std::to_string(id_) + " was lent twice");
        }
        if (at_.broken.contains(id_)) {
            at_.violations.push_back("connection " + std::to_string(id_) +
                                     " is broken and was lent again");
        }
    }
    use(const use&) = delete;
    use& operator=(const use&) = delete;
    ~use() { --at_.users[id_]; }

private:
    server& at_;
    int id_;
};

// The body must hold under so many schedules.
inline void expect_always(const weir::testing::test_body& body, std::uint64_t count = 300) {
    schedules::expect_under(count, body);
}

class event_log final : public weir::observer {
public:
    void on_event(const weir::flow_event& event) noexcept override {
        text += std::string(event.what) + " ";
    }
    std::string text;
};

}  // namespace pool_tests
