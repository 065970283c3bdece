// SPDX-License-Identifier: MIT
// Connects to the first of several addresses that answers (RFC 8305); a template for tests.
#pragma once

#include <weir/cancel.hpp>
#include <weir/clock.hpp>
#include <weir/group.hpp>
#include <weir/io/address.hpp>
#include <weir/loop.hpp>
#include <weir/scope.hpp>
#include <weir/sync/event.hpp>
#include <weir/task.hpp>

#include <exception>
#include <optional>
#include <utility>
#include <vector>

namespace weir::io::detail {

// How the attempts ended: the first success, or the error of each address, in their order.
template <class Connection>
struct attempts {
    std::optional<Connection> connection{};
    std::vector<std::exception_ptr> errors{};  // null: not tried, or cut short by the success
};

// Tries the addresses in order. The next attempt begins `delay` after the last one, or at once when
// any has failed. The first success wins; the others are stopped and awaited, and a second success
// at the same time is closed. `connect(address)` makes a task<Connection>; its errors are caught. A
// stop stops all attempts.
template <class Connection, class Connect>
task<attempts<Connection>> connect_to_first(std::vector<address> addresses, Connect& connect,
                                            clock::duration delay) {
    attempts<Connection> ended;
    ended.errors.resize(addresses.size());
    std::size_t failures = 0;
    event changed;
    auto attempt = [&](std::size_t index) -> task<> {
        auto result = co_await settle(connect(addresses[index]));
        if (!result.has_value()) {
            ended.errors[index] = result.error();
            ++failures;
        } else if (!ended.connection) {
            ended.connection.emplace(std::move(result).value());
        }
        changed.set();
    };
    auto until_something_ends = [&](std::size_t failed_before) -> task<> {
        while (!ended.connection && failures == failed_before) {
            changed.clear();
            co_await changed.wait();
        }
    };
    auto race = [&](task_group& group) -> task<> {
        for (std::size_t next = 0; next < addresses.size() && !ended.connection; ++next) {
            const std::size_t failed_before = failures;
            group.spawn(attempt(next));
            if (next + 1 < addresses.size()) {
                cancel_scope patience(delay);
                co_await patience.run(until_something_ends(failed_before));
            }
        }
        while (!ended.connection && failures < addresses.size()) {
            co_await until_something_ends(failures);
        }
        group.cancel();
    };
    co_await with_group(race);
    co_return ended;
}

}  // namespace weir::io::detail
