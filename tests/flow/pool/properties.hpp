// SPDX-License-Identifier: MIT
// Properties of every pool, for all behaviour of its users. Each check gives the violation it
// found, or an empty text, so that it can be turned on pools that are known to be wrong.
//
// A pool here is a class made from a server and a maximum, with a coroutine acquire() that gives a
// lease_type: *, ->, invalidate() and release(); disturb(dice), which shakes its settings, calm(),
// which ends that, and a coroutine finish().
#pragma once

#include "support.hpp"

#include <memory>

namespace pool_tests {

constexpr int most_connections = 3;

inline std::string found_by(const weir::testing::test_body& body, std::uint64_t schedules) {
    weir::testing::explore_options options;
    options.schedules = schedules;
    const weir::testing::exploration result = weir::testing::explore(body, options);
    return result.failed ? "schedule " + std::to_string(result.seed) + "\n" + result.text() : "";
}

// The users and the chaos around one pool.
template <class Pool>
class traffic {
public:
    explicit traffic(int users)
        : pool_(at_, most_connections), attempts_(static_cast<std::size_t>(users)) {}

    task<> run(int uses) {
        at_.random = &random_;
        std::vector<handle<>> users;
        for (std::size_t i = 0; i < attempts_.size(); ++i) {
            users.push_back(weir::spawn(user(i, uses)));
        }
        users.push_back(weir::spawn(chaos(4 * uses)));
        for (auto& each : users) {
            co_await each;
        }
        at_.random = nullptr;
        co_await weir::sleep(50ms);
        co_await take_all();
        EXPECT_EQ(at_.violations, std::vector<std::string>());
        EXPECT_LE(at_.most_open, most_connections);
        co_await pool_.finish();
    }

private:
    task<> use_once() {
        auto lent = co_await pool_.acquire();
        {
            const use used(*lent);
            co_await random_.pause();
            const int fate = random_.below(10);
            if (fate < 2) {
                at_.broken.insert(lent->id);  // the server has hung up
            }
            if (fate == 0) {
                lent.invalidate();  // and the user has noticed
            }
        }
        lent.release();
    }
    task<> user(std::size_t index, int uses) {
        for (; uses > 0; --uses) {
            handle<>& attempt = attempts_[index];
            if (random_.one_in(2)) {
                attempt = weir::spawn(use_once());
            } else {
                const auto limit = std::chrono::milliseconds(random_.below(5));
                attempt = weir::spawn(limited(limit));
            }
            co_await attempt.wait();
            if (attempt.failed()) {
                (void)attempt.error();
            }
            co_await random_.pause();
        }
    }
    task<> limited(std::chrono::milliseconds limit) { co_await weir::timeout(limit, use_once()); }
    task<> chaos(int times) {
        for (; times > 0; --times) {
            co_await random_.pause();
            const int victim = random_.below(static_cast<int>(attempts_.size()));
            if (handle<>& attempt = attempts_[static_cast<std::size_t>(victim)]) {
                attempt.cancel();
            }
            pool_.disturb(random_);
        }
    }
    // No place is lost: as many as the pool may lend can be had at once.
    task<> take_all() {
        pool_.calm();
        std::vector<typename Pool::lease_type> lent;
        for (int i = 0; i < most_connections; ++i) {
            auto one = co_await weir::timeout(1h, pool_.acquire());
            lent.push_back(std::move(one));
            EXPECT_EQ(at_.users[lent.back()->id], 0);
        }
        std::set<int> ids;
        for (auto& each : lent) {
            ids.insert(each->id);
            each.release();
        }
        EXPECT_EQ(ids.size(), static_cast<std::size_t>(most_connections));
    }

    server at_;
    dice random_;
    Pool pool_;
    std::vector<handle<>> attempts_;
};

// Lends nothing twice, and nothing broken; has never more than the maximum; loses no place: under
// failures, cancels and timeouts.
template <class Pool>
std::string lending_violation(std::uint64_t schedules = 1000) {
    return found_by(
        []() -> task<> {
            auto all = std::make_unique<traffic<Pool>>(5);
            co_await all->run(6);
        },
        schedules);
}

// One connection and many tasks that want it: first come, first served, except for tasks that gave
// up.
template <class Pool>
std::string order_violation(std::uint64_t traces = 1000) {
    return found_by(
        []() -> task<> {
            weir::testing::in_ordinary_order();
            server at;
            dice random;
            at.random = &random;
            Pool pool(at, 1);
            std::set<int> waiting;  // tickets neither served nor cancelled
            std::vector<handle<>> all;
            auto user = [&](int ticket) -> task<> {
                struct leave {
                    leave(std::set<int>& tickets, int one) : from(tickets), number(one) {
                        from.insert(number);
                    }
                    ~leave() { from.erase(number); }
                    std::set<int>& from;
                    int number;
                };
                auto place = std::make_unique<leave>(waiting, ticket);
                auto lent = co_await pool.acquire();
                EXPECT_EQ(*waiting.begin(), ticket) << "overtaken";
                place.reset();
                co_await random.pause();
                if (random.one_in(8)) {
                    lent.invalidate();
                }
                lent.release();
            };
            for (int i = 0; i < 20; ++i) {
                all.push_back(weir::spawn(user, i));
                co_await random.pause();
                if (random.one_in(4)) {
                    const int victim = random.below(i + 1);
                    all[static_cast<std::size_t>(victim)].cancel();
                    waiting.erase(victim);
                }
            }
            for (auto& each : all) {
                co_await each.wait();
                if (each.failed()) {
                    (void)each.error();
                }
            }
            co_await pool.finish();
        },
        traces);
}

}  // namespace pool_tests
