// SPDX-License-Identifier: MIT
#include "service/engine/store_client.hpp"

#include "components.hpp"

#include <stdexcept>

namespace weir::service::testing {
namespace {

WEIR_TEST(StoreClient, GivesUpACallAfterItsTimeout) {
    components parts;
    parts.memory.on_call([](store_call) { return store_fault::hangs; });
    const clock::time_point begun = weir::now();
    WEIR_EXPECT_THROW_WITH(parts.store.call(parts.store->queues()), store_unavailable,
                           "does not answer");
    EXPECT_EQ(weir::now() - begun, parts.options.store_timeout);
    WEIR_EXPECT_THROW(parts.store.call_within(1s, parts.store->queues()), store_unavailable);
    EXPECT_EQ(weir::now() - begun, parts.options.store_timeout + 1s);
}

WEIR_TEST(StoreClient, LogsOnceThatTheStoreIsUnavailableAndAvailableAgain) {
    components parts;
    bool is_away = true;
    parts.memory.on_call(
        [&](store_call) { return is_away ? store_fault::fails : store_fault::none; });
    for (int i = 0; i < 3; ++i) {
        WEIR_EXPECT_THROW(parts.store.write(parts.store->probe({})), store_unavailable);
    }
    EXPECT_FALSE(parts.store.is_available());
    is_away = false;
    co_await parts.store.call(parts.store->queues());
    EXPECT_FALSE(parts.store.is_available()) << "reading shows nothing";
    co_await parts.store.write(parts.store->probe({}));
    EXPECT_TRUE(parts.store.is_available());
    EXPECT_EQ(parts.messages.size(), 2u);
}

WEIR_TEST(StoreClient, WaitsLongerBeforeEachRetryAndNoLongerThanNeeded) {
    components parts;
    parts.memory.on_call([](store_call) { return store_fault::fails; });
    WEIR_EXPECT_THROW(parts.store.write(parts.store->probe({})), store_unavailable);
    parts.memory.on_call({});
    decision::backoff delays(detail::store_backoff_options);
    const clock::time_point begun = weir::now();
    for (int i = 0; i < 10; ++i) {
        co_await parts.store.wait_before_retry(delays);
    }
    EXPECT_GT(weir::now() - begun, 2s);
    const clock::time_point last = weir::now();
    const handle<> waiting = weir::spawn(parts.store.wait_before_retry(delays));
    co_await settle_all();
    co_await parts.store.write(parts.store->probe({}));
    co_await waiting.wait();
    EXPECT_LT(weir::now() - last, 500ms) << "the store is available again";
}

WEIR_TEST(StoreClient, PassesOtherErrorsOn) {
    components parts;
    parts.memory.on_call([](store_call) -> store_fault { throw std::logic_error("no table"); });
    WEIR_EXPECT_THROW_WITH(parts.store.write(parts.store->probe({})), std::logic_error, "no table");
    EXPECT_TRUE(parts.store.is_available()) << "it has answered";
    EXPECT_TRUE(parts.messages.empty());
    co_return;
}

WEIR_TEST(StoreClient, SaysWhatWasWrong) {
    components parts;
    parts.memory.on_call([](store_call) { return store_fault::fails; });
    WEIR_EXPECT_THROW(parts.store.call(parts.store->queues()), store_unavailable);
    EXPECT_EQ(parts.logged("the store is unavailable: the memory store was told to fail"), 1u);
    EXPECT_FALSE(parts.store.is_available());
    parts.memory.on_call({});
    const heartbeat_answer answer =
        co_await parts.store.write(parts.store->heartbeat(node_record(), parts.time.now()));
    EXPECT_TRUE(answer.is_alive);
    EXPECT_TRUE(parts.store.is_available()) << "an answer of a write shows it, too";
    EXPECT_EQ(parts.logged("the store is available again"), 1u);
}

}  // namespace
}  // namespace weir::service::testing
