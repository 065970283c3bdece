// SPDX-License-Identifier: MIT
// keyed<Key, Value>: created on first use, bounded, never evicts values that are in use or matter.

#include <weir/flow/circuit_breaker.hpp>
#include <weir/flow/keyed.hpp>
#include <weir/flow/prometheus.hpp>
#include <weir/testing/testing.hpp>

#include <list>
#include <map>
#include <random>
#include <set>

namespace {

using namespace std::chrono_literals;
using weir::keyed;
using weir::refusal_reason;
using weir::testing::advance;

// Counts those alive; cannot be moved.
struct client {
    inline static int alive = 0;
    std::string host;
    explicit client(std::string name) : host(std::move(name)) { ++alive; }
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    ~client() { --alive; }
};
using clients = keyed<std::string, client>;
client make(const std::string& host) {
    if (host == "bad") {
        throw std::runtime_error("no such host");
    }
    return client(host);
}

WEIR_TEST(Keyed, MakesOnFirstUseAndKeeps) {
    clients all({.max_size = 2}, make);
    client* first = nullptr;
    {
        auto lease = all.get("a");
        first = &*lease;
        EXPECT_EQ(lease->host, "a");
        EXPECT_EQ(lease.key(), "a");
        EXPECT_EQ(all.stats().in_use, 1u);
    }
    EXPECT_EQ(&*all.get("a"), first);
    EXPECT_EQ(all.stats().made, 1u);
    EXPECT_EQ(all.stats().found, 1u);
    EXPECT_EQ(all.stats().in_use, 0u);
    EXPECT_THROW((void)all.get("bad"), std::runtime_error);
    EXPECT_EQ(all.size(), 1u);
    EXPECT_FALSE(all.find("b"));
    EXPECT_TRUE(all.find("a"));
    co_return;
}

WEIR_TEST(Keyed, TheLeastRecentlyUsedGoes) {
    clients all({.max_size = 3}, make);
    for (const char* host : {"a", "b", "c"}) {
        (void)all.get(host);
    }
    (void)all.get("a");
    (void)all.get("d");
    EXPECT_FALSE(all.contains("b"));
    EXPECT_TRUE(all.contains("a"));
    const auto in_use = all.get("c");
    (void)all.get("e");
    EXPECT_FALSE(all.contains("a"));
    EXPECT_EQ(all.size(), 3u);
    EXPECT_EQ(client::alive, 3);
    EXPECT_EQ(all.stats().evicted, 2u);
    co_return;
}

WEIR_TEST(Keyed, NeverOneInUse) {
    clients all({.max_size = 2, .name = "hosts"}, make);
    const auto first = all.get("a");
    auto second = all.get("b");
    const auto third = all.try_get("c");
    WEIR_ASSERT_FALSE(third);
    EXPECT_EQ(third.refusal().reason, refusal_reason::too_many_keys);
    try {
        (void)all.get("c");
        ADD_FAILURE();
    } catch (const weir::refused& error) {
        EXPECT_STREQ(error.what(), "hosts: too many keys are in use");
    }
    second = {};
    EXPECT_TRUE(all.try_get("c"));
    EXPECT_EQ(first->host, "a");
    co_return;
}

WEIR_TEST(Keyed, NeverOneThatStillMatters) {
    using breakers = keyed<std::string, weir::circuit_breaker>;
    breakers all(
        {.max_size = 2,
         .still_matters =
             [](const std::string&, weir::circuit_breaker& breaker) {
                 return breaker.state() != weir::circuit_state::closed;
             }},
        [](const std::string&) { return weir::circuit_breaker(weir::circuit_breaker_options{}); });
    all.get("failing")->isolate();
    (void)all.get("a");
    (void)all.get("b");
    EXPECT_FALSE(all.contains("a"));
    EXPECT_TRUE(all.contains("failing"));
    all.get("failing")->reset();
    (void)all.get("c");
    (void)all.get("d");
    EXPECT_FALSE(all.contains("failing"));
    co_return;
}

WEIR_TEST(Keyed, IdleOnesGo) {
    clients all({.max_size = 10, .idle_for = 1min}, make);
    (void)all.get("a");
    (void)all.get("b");
    const auto held = all.get("c");
    co_await advance(30s);
    (void)all.get("b");
    co_await advance(30s);
    EXPECT_EQ(all.evict_idle(), 1u);
    EXPECT_FALSE(all.contains("a"));
    co_await advance(30s);
    (void)all.get("d");  // asking is enough
    EXPECT_FALSE(all.contains("b"));
    EXPECT_TRUE(all.contains("c"));
}

WEIR_TEST(Keyed, LeasesOutliveWhatIsErasedAndTheRegistry) {
    std::optional<clients> all;
    all.emplace(clients::options{.max_size = 10}, make);
    auto old = all->get("a");
    EXPECT_TRUE(all->erase("a"));
    EXPECT_FALSE(all->erase("a"));
    auto fresh = all->get("a");
    EXPECT_NE(&*old, &*fresh);
    old = {};
    EXPECT_EQ(client::alive, 1);
    all.reset();
    EXPECT_EQ(fresh->host, "a");
    fresh = {};
    EXPECT_EQ(client::alive, 0);
    co_return;
}

WEIR_TEST(Keyed, AFactoryThatUsesTheRegistry) {
    struct node {
        int number;
    };
    keyed<int, node>* self = nullptr;
    keyed<int, node> all({.max_size = 2}, [&self](const int& key) {
        if (key == 1) {
            (void)self->get(2);
            (void)self->get(3);
        }
        if (key == 7 && !self->contains(7)) {
            static bool is_inner = false;
            if (!std::exchange(is_inner, true)) {
                (void)self->get(7);
            }
        }
        return node{key};
    });
    self = &all;
    EXPECT_EQ(all.get(1)->number, 1);
    EXPECT_EQ(all.size(), 2u);
    EXPECT_EQ(all.get(7)->number, 7);
    EXPECT_EQ(all.size(), 2u);
    co_return;
}

// Against a plain model, on random traces.
WEIR_TEST(Keyed, EqualsAModel) {
    weir::testing::once_is_enough();
    for (unsigned seed = 0; seed < 1000; ++seed) {
        std::mt19937 random(seed);
        const std::size_t max_size = 1 + random() % 6;
        std::set<int> precious;
        keyed<int, int> all(
            {.max_size = max_size,
             .still_matters = [&precious](const int& key, int&) { return precious.contains(key); }},
            [](const int& key) { return key * 10; });
        std::list<int> order;  // least recently given back first; in use: not in it
        std::multimap<int, keyed<int, int>::lease> leases;
        std::set<int> held;
        for (int step = 0; step < 200; ++step) {
            const int key = static_cast<int>(random() % 10);
            const auto choice = random() % 4;
            if (choice == 0 && !leases.empty()) {
                auto back = std::next(leases.begin(),
                                      static_cast<std::ptrdiff_t>(random() % leases.size()));
                const int returned = back->first;
                leases.erase(back);
                if (leases.count(returned) == 0) {
                    order.push_back(returned);
                }
                continue;
            }
            if (choice == 1) {
                if (!precious.erase(key)) {
                    precious.insert(key);
                }
                continue;
            }
            const bool is_there = held.contains(key);
            const auto victim = std::find_if(order.begin(), order.end(), [&precious](int each) {
                return !precious.contains(each);
            });
            const bool fits = is_there || held.size() < max_size || victim != order.end();
            auto lease = all.try_get(key);
            WEIR_ASSERT_EQ(lease.has_value(), fits) << "seed " << seed;
            if (!fits) {
                continue;
            }
            EXPECT_EQ(*lease.pass(), key * 10);
            if (!is_there && held.size() == max_size) {
                held.erase(*victim);
                order.erase(victim);
            }
            held.insert(key);
            order.remove(key);
            leases.emplace(key, std::move(lease).pass());
            WEIR_ASSERT_EQ(all.size(), held.size());
            for (const int each : held) {
                WEIR_ASSERT_TRUE(all.contains(each)) << "seed " << seed;
            }
        }
    }
    co_return;
}

WEIR_TEST(Keyed, BadOptionsAndMetrics) {
    EXPECT_THROW(clients({.max_size = 0}, make), weir::invalid_argument);
    EXPECT_THROW(clients({.idle_for = 0s}, make), weir::invalid_argument);
    clients all({.name = "hosts"}, make);
    (void)all.get("a");
    weir::prometheus_writer page;
    all.write_metrics(page);
    EXPECT_NE(page.text().find("weir_keyed_made_total{name=\"hosts\"} 1"), std::string::npos);
    co_return;
}

}  // namespace
