// SPDX-License-Identifier: MIT
// R5: gather: five users fetched at once, in the time of one
#include <weir/weir.hpp>

#include <iostream>
#include <string>
#include <vector>

using namespace std::chrono_literals;

struct user {
    int id;
    std::string name;
};

weir::task<user> fetch_user(int id) {
    co_await weir::sleep(500ms);
    co_return user{id, "User " + std::to_string(id)};
}

weir::task<int> count_orders(int id) {
    co_await weir::sleep(300ms);
    co_return id * 10;
}

weir::task<std::vector<user>> fetch_all_users(std::vector<int> ids) {
    std::vector<weir::task<user>> work;
    for (int id : ids) {
        work.push_back(fetch_user(id));
    }
    co_return co_await weir::gather(std::move(work));
}

weir::task<> run() {
    const auto begin = weir::now();
    std::vector<int> ids{1, 2, 3, 4, 5};
    const std::vector<user> users = co_await fetch_all_users(ids);
    std::cout << "Fetched " << users.size() << " users in " << (weir::now() - begin) / 1ms
              << " ms\n";
    for (const user& each : users) {
        std::cout << each.id << ": " << each.name << '\n';
    }

    // Different types: a tuple.
    auto [person, orders] = co_await weir::gather(fetch_user(7), count_orders(7));
    std::cout << person.name << " has " << orders << " orders\n";
}

int main() {
    weir::run(run(), {.driver = weir::driver_kind::simulated});
}
