// SPDX-License-Identifier: MIT
// loading_cache: expiry, refreshing, errors and capacity in simulated time, and beside a model.

#include "sync/support.hpp"

#include <weir/flow/loading_cache.hpp>
#include <weir/flow/prometheus.hpp>

#include <array>
#include <map>
#include <random>
#include <stdexcept>
#include <string>

namespace {

using namespace sync_tests;
using cache = weir::loading_cache<std::string, int>;

// Loads take 10 ms and give the number of the load; they fail while `is_broken`.
struct source {
    int loads = 0;
    bool is_broken = false;

    task<int> load(std::string) {
        const int number = ++loads;
        co_await weir::sleep(10ms);
        if (is_broken) {
            throw std::runtime_error("load " + std::to_string(number));
        }
        co_return number;
    }
    auto function() {
        return [this](const std::string& key) { return load(key); };
    }
};

// The value, or minus the number of the load that failed.
task<int> get(cache& from, std::string key) {
    int value = 0;
    try {
        value = co_await from.get(std::move(key));
    } catch (const std::runtime_error& error) {
        value = -std::stoi(std::string(error.what()).substr(5));
    }
    co_return value;
}

WEIR_TEST(LoadingCache, LoadsOnceAndKeepsTheValue) {
    source from;
    cache values({}, from.function());
    auto [first, second] = co_await weir::gather(values.get("a"), values.get("a"));
    EXPECT_EQ(first, 1);
    EXPECT_EQ(second, 1);
    const weir::clock::time_point before = weir::now();
    const int third = co_await values.get("a");
    EXPECT_EQ(third, 1);
    EXPECT_EQ(weir::now(), before);
    EXPECT_EQ(values.peek("a"), 1);
    EXPECT_EQ(values.peek("b"), std::nullopt);
    EXPECT_EQ(from.loads, 1);
    EXPECT_EQ(values.stats().hits, 1u);
    EXPECT_EQ(values.stats().misses, 2u);
    EXPECT_EQ(values.stats().loads, 1u);
}

WEIR_TEST(LoadingCache, ValuesExpire) {
    source from;
    cache values({.expire_after = 1s}, from.function());
    co_await values.get("a");
    co_await weir::sleep(999ms);
    int value = co_await values.get("a");
    EXPECT_EQ(value, 1);
    co_await weir::sleep(1ms);
    EXPECT_EQ(values.peek("a"), std::nullopt);
    value = co_await values.get("a");
    EXPECT_EQ(value, 2);
}

WEIR_TEST(LoadingCache, OldValuesAreReturnedWhileOneLoadReplacesThem) {
    source from;
    cache values({.expire_after = 10s, .refresh_after = 1s}, from.function());
    co_await values.get("a");
    co_await weir::sleep(2s);
    const weir::clock::time_point before = weir::now();
    int value = co_await values.get("a");
    EXPECT_EQ(value, 1);
    value = co_await values.get("a");
    EXPECT_EQ(value, 1);
    EXPECT_EQ(weir::now(), before) << "nobody waits";
    co_await weir::sleep(20ms);
    value = co_await values.get("a");
    EXPECT_EQ(value, 2);
    EXPECT_EQ(from.loads, 2);
    from.is_broken = true;
    co_await weir::sleep(2s);
    value = co_await values.get("a");
    co_await weir::sleep(20ms);
    value = co_await values.get("a");
    EXPECT_EQ(value, 2) << "a value that cannot be replaced stays";
    co_await weir::sleep(10s);
    value = co_await get(values, "a");
    EXPECT_LT(value, 0) << "until it expires";
}

WEIR_TEST(LoadingCache, ErrorsAreKeptOnRequest) {
    source from;
    from.is_broken = true;
    cache forgetful({}, from.function());
    int value = co_await get(forgetful, "a");
    EXPECT_EQ(value, -1);
    value = co_await get(forgetful, "a");
    EXPECT_EQ(value, -2);
    cache values({.keep_errors = 1s}, from.function());
    value = co_await get(values, "a");
    EXPECT_EQ(value, -3);
    value = co_await get(values, "a");
    EXPECT_EQ(value, -3);
    EXPECT_EQ(values.peek("a"), std::nullopt);
    from.is_broken = false;
    co_await weir::sleep(1s);
    value = co_await get(values, "a");
    EXPECT_EQ(value, 4);
    EXPECT_EQ(values.stats().failures, 1u);
}

// With an old value, a source that fails is asked no more often than errors are kept.
WEIR_TEST(LoadingCache, AFailedRefreshIsNotRepeatedAtOnce) {
    source from;
    cache values({.expire_after = 1h, .refresh_after = 1s, .keep_errors = 5s}, from.function());
    co_await values.get("a");
    from.is_broken = true;
    for (int i = 0; i < 100; ++i) {
        co_await weir::sleep(100ms);
        const int value = co_await values.get("a");
        EXPECT_EQ(value, 1);
    }
    EXPECT_EQ(from.loads, 3) << "after 1 s and 6 s";
}

WEIR_TEST(LoadingCache, TheLeastRecentlyUsedGoes) {
    source from;
    cache values({.capacity = 2}, from.function());
    co_await values.get("a");
    co_await values.get("b");
    co_await values.get("a");
    co_await values.get("c");
    EXPECT_TRUE(values.peek("a"));
    EXPECT_FALSE(values.peek("b"));
    EXPECT_TRUE(values.peek("c"));
    EXPECT_EQ(values.size(), 2u);
    EXPECT_EQ(values.stats().evicted, 1u);
}

// A load that began before the change must not bring the old value back.
WEIR_TEST(LoadingCache, AnErasedValueDoesNotComeBack) {
    source from;
    cache values({}, from.function());
    auto old = weir::spawn(values.get("a"));
    co_await weir::sleep(5ms);
    EXPECT_FALSE(values.erase("a"));
    const int fresh = co_await values.get("a");
    EXPECT_EQ(fresh, 2);
    const int stale = co_await old;
    EXPECT_EQ(stale, 1) << "it asked before";
    EXPECT_EQ(values.peek("a"), 2);
    auto loading = weir::spawn(values.get("b"));
    co_await weir::sleep(5ms);
    values.put("b", 77);
    co_await loading;
    EXPECT_EQ(values.peek("b"), 77);
    auto cleared = weir::spawn(values.get("c"));
    co_await weir::sleep(5ms);
    values.clear();
    co_await cleared;
    EXPECT_EQ(values.size(), 0u);
}

WEIR_TEST(LoadingCache, AStoppedLoadLeavesNothing) {
    source from;
    cache values({.keep_errors = 1s}, from.function());
    auto only = weir::spawn(values.get("a"));
    co_await weir::sleep(5ms);
    only.cancel();
    co_await settle_all();
    EXPECT_EQ(values.size(), 0u);
    const int value = co_await values.get("a");
    EXPECT_EQ(value, 2);
    endings count;
    auto wait = [&]() -> task<> { co_await values.get("b"); };
    auto waiting = weir::spawn(ended(count, wait));
    co_await weir::sleep(5ms);
    co_await values.close();
    co_await waiting;
    EXPECT_EQ(count.invalid, 1);
}

// What is in the cache is still returned after close(), also where it would have been refreshed.
WEIR_TEST(LoadingCache, KeepsAnsweringAfterClose) {
    source from;
    cache values({.expire_after = 10s, .refresh_after = 1s}, from.function());
    co_await values.get("a");
    co_await weir::sleep(2s);
    co_await values.close();
    const int value = co_await values.get("a");
    EXPECT_EQ(value, 1);
    EXPECT_EQ(from.loads, 1);
    WEIR_EXPECT_THROW(values.get("b"), weir::invalid_state);
    co_await weir::sleep(10s);
    WEIR_EXPECT_THROW(values.get("a"), weir::invalid_state);
}

// With eager starts the load that refreshes a value runs before get() returns the old one.
WEIR_TEST(LoadingCache, AnEagerRefreshMayRemoveTheValue) {
    weir::loop::current().set_eager(true);
    weir::loading_cache<int, std::string>* used = nullptr;
    int loads = 0;
    auto load = [&](int key) -> task<std::string> {
        if (++loads > 1) {
            used->erase(key);
        }
        co_return std::string(50, static_cast<char>('0' + loads));
    };
    weir::loading_cache<int, std::string> values({.refresh_after = 1s}, load);
    used = &values;
    co_await values.get(1);
    co_await weir::sleep(2s);
    const std::string old = co_await values.get(1);
    EXPECT_EQ(old, std::string(50, '1'));
    EXPECT_EQ(loads, 2);
    weir::loop::current().set_eager(false);
}

TEST(LoadingCache, RefusesInvalidOptions) {
    const auto make = [](const weir::loading_cache_options& options) {
        cache made(options, [](const std::string&) -> task<int> { co_return 1; });
    };
    EXPECT_THROW(make({.capacity = 0}), weir::invalid_argument);
    EXPECT_THROW(make({.expire_after = 0s}), weir::invalid_argument);
    EXPECT_THROW(make({.expire_after = 1s, .refresh_after = 1s}), weir::invalid_argument);
    EXPECT_THROW(make({.keep_errors = -1s}), weir::invalid_argument);
}

WEIR_TEST(LoadingCache, HasMetrics) {
    source from;
    cache values({.name = "users"}, from.function());
    co_await values.get("a");
    weir::prometheus_writer text;
    values.write_metrics(text);
    EXPECT_NE(text.text().find("weir_cache_loads_total{name=\"users\"} 1"), std::string::npos);
    EXPECT_NE(text.text().find("weir_cache_size{name=\"users\"} 1"), std::string::npos);
}

// Random use beside a model that keeps all values of a key with their times.
WEIR_TEST(LoadingCache, AgreesWithANaiveModel) {
    std::mt19937 random(11);
    const auto below = [&](unsigned end) { return static_cast<int>(random() % end); };
    for (int round = 0; round < 30; ++round) {
        std::map<std::string, int> versions;  // of the source, now
        const auto load = [&](const std::string& key) -> task<int> {
            const int version = versions[key];
            co_await weir::sleep(1ms);
            co_return version;
        };
        cache values({.capacity = 3, .expire_after = 50ms}, load);
        struct known {
            int version = 0;
            weir::clock::time_point at;
        };
        std::map<std::string, known> loaded;
        for (int step = 0; step < 200; ++step) {
            const std::string key(1, static_cast<char>('a' + below(5)));
            switch (below(6)) {
                case 0:
                    ++versions[key];
                    break;
                case 1:
                    values.erase(key);
                    loaded.erase(key);
                    break;
                case 2:
                    co_await weir::sleep(std::chrono::milliseconds(below(20)));
                    break;
                default: {
                    const std::uint64_t loads = values.stats().loads;
                    const int value = co_await values.get(key);
                    const bool was_loaded = values.stats().loads != loads;
                    if (was_loaded) {
                        EXPECT_EQ(value, versions[key]);
                        loaded[key] = {value, weir::now()};
                    } else {
                        WEIR_ASSERT_TRUE(loaded.contains(key));
                        EXPECT_EQ(value, loaded[key].version);
                        EXPECT_LT(weir::now() - loaded[key].at, 50ms);
                    }
                    EXPECT_LE(values.size(), 3u);
                }
            }
        }
    }
}

// Readers, changes, refreshing, failures and stops in every order: one load of a key at a time
// (beside those that an erase has left behind), no value that is older than the latest erase or
// put, no caller that waits for ever.
TEST(LoadingCache, HoldsUnderSchedules) {
    expect_always([]() -> task<> {
        dice random;
        constexpr int keys = 3;
        struct key_state {
            int version = 1;       // of the source
            int oldest_valid = 1;  // since the latest erase or put
            int loads = 0;         // that run
        };
        std::array<key_state, keys> state;
        const bool erases = random.one_in(2);
        const auto load = [&](int key) -> task<int> {
            key_state& of = state[static_cast<std::size_t>(key)];
            const counted here(of.loads);
            EXPECT_TRUE(erases || of.loads == 1) << "one load at a time";
            const int version = of.version;
            co_await pause(random);
            if (random.one_in(5)) {
                throw std::runtime_error("the source failed");
            }
            co_return version;
        };
        weir::loading_cache<int, int> values({.capacity = random.one_in(2) ? 2u : 10u,
                                              .expire_after = 8ms,
                                              .refresh_after = 3ms,
                                              .keep_errors = random.one_in(2) ? 0ms : 2ms},
                                             load);
        const auto forget = [&](key_state& of) { of.oldest_valid = ++of.version; };
        const auto read = [&]() -> task<> {
            const int key = random.below(keys);
            key_state& of = state[static_cast<std::size_t>(key)];
            const int oldest = of.oldest_valid;
            const auto got = co_await weir::settle(values.get(key));
            if (got.has_value()) {
                EXPECT_GE(got.value(), oldest) << "older than an erase before the call";
                EXPECT_LE(got.value(), of.version);
            } else {
                EXPECT_EQ(weir::describe(got.error()), "the source failed");
            }
            EXPECT_LE(values.size(), 10u);
        };
        const auto change = [&]() -> task<> {
            for (int i = 0; i < 8; ++i) {
                co_await pause(random);
                const int key = random.below(keys);
                key_state& of = state[static_cast<std::size_t>(key)];
                switch (erases ? random.below(5) : 4) {
                    case 0:
                        forget(of);
                        values.erase(key);
                        EXPECT_FALSE(values.peek(key));
                        break;
                    case 1:
                        forget(of);
                        values.put(key, of.version);
                        EXPECT_EQ(values.peek(key), of.version);
                        break;
                    case 2:
                        for (key_state& each : state) {
                            forget(each);
                        }
                        values.clear();
                        EXPECT_EQ(values.size(), 0u);
                        break;
                    default:
                        ++of.version;  // the source alone: old values may be returned
                }
            }
        };
        std::vector<handle<void>> readers(4);
        const auto reader = [&](std::size_t number) -> task<> {
            for (int i = 0; i < 6; ++i) {
                co_await pause(random);
                co_await until_done(readers[number], read);
            }
        };
        co_await weir::gather(reader(0), reader(1), reader(2), reader(3), change(),
                              chaos(random, readers, 10));
        for (int key = 0; key < keys; ++key) {
            const auto value = values.peek(key);
            EXPECT_GE(value.value_or(1000), state[static_cast<std::size_t>(key)].oldest_valid);
        }
        co_await values.close();
        for (const key_state& each : state) {
            EXPECT_EQ(each.loads, 0);
        }
    });
}

// Closed while callers wait: each of them ends, with a value or invalid_state.
TEST(LoadingCache, ClosesUnderSchedules) {
    expect_always([]() -> task<> {
        dice random;
        const auto load = [&](int key) -> task<int> {
            co_await pause(random);
            co_return key;
        };
        weir::loading_cache<int, int> values({.expire_after = 3ms, .refresh_after = 1ms}, load);
        endings count;
        const auto read = [&]() -> task<> {
            co_await pause(random);
            co_await values.get(random.below(2));
        };
        std::vector<handle<void>> readers;
        for (int i = 0; i < 6; ++i) {
            readers.push_back(weir::spawn(ended(count, read)));
        }
        co_await pause(random);
        co_await values.close();
        for (handle<void>& each : readers) {
            co_await each;
        }
        EXPECT_EQ(count.well + count.invalid, 6);
    });
}

}  // namespace
