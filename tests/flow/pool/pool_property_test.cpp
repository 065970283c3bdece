// SPDX-License-Identifier: MIT
// The properties of properties.hpp, for pools of all kinds of settings; and that they find what is
// wrong with pools that are wrong.

#include "naive_pool.hpp"
#include "properties.hpp"

namespace {

using namespace pool_tests;
using weir::pool_functions;
using weir::pool_options;

// A pool as the properties see it. What it is like is said by a function.
template <auto Settings>
class checked_pool {
public:
    using lease_type = weir::lease<connection>;

    explicit checked_pool(server& at, int most)
        : most_(static_cast<std::size_t>(most)),
          functions_(at.functions()),
          options_(Settings(most_, functions_, at)),
          pool_(options_, std::move(functions_)) {}
    task<lease_type> acquire() { co_return co_await pool_.acquire(); }
    void disturb(dice& random) {
        const pool_stats now = pool_.stats();
        EXPECT_LE(now.size() + now.connecting + now.closing, std::max(now.max, most_));
        EXPECT_LE(now.size() + now.connecting, std::max(now.max, most_));
        // No task waits without cause: an object is being made, lent, or being closed.
        if (now.waiting > 0 && !is_suspended_ && options_.connect_backoff == 0s) {
            EXPECT_GT(now.lent + now.connecting + now.checking + now.resetting + now.closing, 0u);
        }
        if (!shaken_) {
            return;
        }
        switch (random.below(8)) {
            case 0:
                pool_.resize(1 + static_cast<std::size_t>(random.below(static_cast<int>(most_))));
                break;
            case 1:
                pool_.suspend();
                is_suspended_ = true;
                break;
            case 2:
                pool_.evict_all();
                break;
            default:
                pool_.resume();
                is_suspended_ = false;
        }
    }
    void calm() {
        pool_.resize(most_);
        pool_.resume();
        const pool_stats now = pool_.stats();
        EXPECT_EQ(now.lent + now.waiting + now.resetting, 0u);
        EXPECT_LE(now.idle, most_);
        EXPECT_EQ(now.connects, now.closed + now.size());
    }
    task<> finish() {
        co_await pool_.close();
        const pool_stats end = pool_.stats();
        EXPECT_EQ(end.size(), 0u);
        EXPECT_EQ(end.connects, end.closed);
    }

protected:
    bool shaken_ = false;

private:
    std::size_t most_;
    pool_functions<connection> functions_;
    pool_options options_;
    weir::pool<connection> pool_;
    bool is_suspended_ = false;
};

template <auto Settings>
class shaken_pool : public checked_pool<Settings> {
public:
    explicit shaken_pool(server& at, int most) : checked_pool<Settings>(at, most) {
        this->shaken_ = true;
    }
};

pool_options with_checks(std::size_t most, pool_functions<connection>&, server&) {
    return {.max = most};
}
pool_options plain_checks(std::size_t most, pool_functions<connection>& functions, server& at) {
    functions.check = [&at](connection& one) { return !at.broken.contains(one.id); };
    functions.close = {};
    return {.max = most, .order = weir::idle_order::oldest_first};
}
pool_options with_resets(std::size_t most, pool_functions<connection>& functions, server& at) {
    functions.reset = [&at](connection& one) -> task<> {
        if (at.random != nullptr) {
            co_await at.random->pause();
        }
        if (at.broken.contains(one.id)) {
            throw std::runtime_error("the reset failed");
        }
    };
    functions.close = [&at](connection&) -> task<> {
        if (at.random != nullptr) {
            co_await at.random->pause();
        }
    };
    return {.max = most, .connect_backoff = 1ms, .max_connect_backoff = 4ms};
}
pool_options short_lives(std::size_t most, pool_functions<connection>&, server&) {
    return {.max = most,
            .min_idle = 1,
            .max_wait = 5ms,
            .connect_timeout = 2ms,
            .check_timeout = 1ms,
            .max_lifetime = 6ms,
            .lifetime_jitter = 0.5,
            .idle_timeout = 3ms,
            .max_uses = 4,
            .keep_alive = 1ms};
}

TEST(PoolProperty, WithChecks) {
    EXPECT_EQ(lending_violation<checked_pool<with_checks>>(), "");
}
TEST(PoolProperty, WithPlainChecks) {
    EXPECT_EQ(lending_violation<checked_pool<plain_checks>>(), "");
}
TEST(PoolProperty, WithResetsAndBackoff) {
    EXPECT_EQ(lending_violation<checked_pool<with_resets>>(), "");
}
TEST(PoolProperty, WithShortLives) {
    EXPECT_EQ(lending_violation<checked_pool<short_lives>>(), "");
}
TEST(PoolProperty, WhileItIsResizedSuspendedAndEvicted) {
    EXPECT_EQ(lending_violation<shaken_pool<with_checks>>(), "");
    EXPECT_EQ(lending_violation<shaken_pool<short_lives>>(), "");
}
TEST(PoolProperty, ServesInOrder) {
    EXPECT_EQ(order_violation<checked_pool<with_checks>>(), "");
    EXPECT_EQ(order_violation<checked_pool<plain_checks>>(), "");
    EXPECT_EQ(order_violation<checked_pool<with_resets>>(), "");
}

// ---- how not to --------------------------------------------------------------------------------

TEST(PoolHowNotTo, ThePropertiesHoldWithoutTheMistakes) {
    EXPECT_EQ(lending_violation<naive_pool<mistake::none>>(), "");
    EXPECT_EQ(order_violation<naive_pool<mistake::none>>(), "");
}
TEST(PoolHowNotTo, ConnectionOnThePool) {
    EXPECT_NE(lending_violation<naive_pool<mistake::connection_on_the_pool>>(), "");
}
TEST(PoolHowNotTo, FailedConnectIsTaken) {
    EXPECT_NE(lending_violation<naive_pool<mistake::failed_connect_is_taken>>(), "");
}
TEST(PoolHowNotTo, CancelledUserKeeps) {
    EXPECT_NE(lending_violation<naive_pool<mistake::cancelled_user_keeps>>(), "");
}
TEST(PoolHowNotTo, BrokenIsLentAgain) {
    EXPECT_NE(lending_violation<naive_pool<mistake::broken_is_lent_again>>(), "");
}
TEST(PoolHowNotTo, NewcomersFirst) {
    EXPECT_NE(order_violation<naive_pool<mistake::newcomers_first>>(), "");
}

}  // namespace
