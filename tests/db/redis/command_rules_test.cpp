// SPDX-License-Identifier: MIT
// Commands that change a connection are refused where tasks share one; the list is held against the
// command table of a server.

#include <support/peers/redis.hpp>

#include <weir/db/redis/client.hpp>
#include <weir/db/redis/detail/command_rules.hpp>
#include <weir/error.hpp>

#include <set>
#include <string>
#include <vector>

namespace {

using namespace weir::redis::detail;
using weir::task;
namespace redis = weir::redis;
using redis_test::shared_server;

TEST(CommandRules, CaseDoesNotMatter) {
    EXPECT_EQ(effect_of("multi"), command_effect::begins_transaction);
    EXPECT_EQ(effect_of("ExEc"), command_effect::ends_transaction);
    EXPECT_EQ(effect_of("client", "tracking"), command_effect::changes_session);
    EXPECT_EQ(effect_of("CLIENT", "LIST"), command_effect::none);
    EXPECT_EQ(effect_of("CLIENT", "REPLY"), command_effect::changes_replies);
    EXPECT_EQ(effect_of("GET", "MULTI"), command_effect::none);
    EXPECT_EQ(effect_of(""), command_effect::none);
    EXPECT_TRUE(may_block("bLpOp"));
    EXPECT_FALSE(may_block("LPOP"));
}

TEST(CommandRules, ABatchEndsWhatItBegins) {
    const auto check = [](const std::vector<std::string>& commands) {
        batch_rules rules;
        for (const std::string& each : commands) {
            rules.add(each);
        }
        rules.check_complete();
    };
    EXPECT_NO_THROW(check({"GET", "MULTI", "SET", "EXEC", "WATCH", "MULTI", "DISCARD"}));
    EXPECT_NO_THROW(check({"WATCH", "UNWATCH"}));
    EXPECT_THROW(check({"MULTI", "SET"}), weir::invalid_argument);
    EXPECT_THROW(check({"WATCH", "GET"}), weir::invalid_argument);
    EXPECT_THROW(check({"WATCH", "MULTI", "UNWATCH"}), weir::invalid_argument);
    EXPECT_THROW(check({"MULTI", "EXEC", "MULTI"}), weir::invalid_argument);
    EXPECT_THROW(check({"MULTI", "SELECT", "EXEC"}), weir::invalid_argument);
    EXPECT_THROW(check({"SUBSCRIBE"}), weir::invalid_argument);
}

// All commands that Redis itself counts among those of connections, transactions and
// subscriptions are refused, except for those that leave nothing behind.
WEIR_IO_TEST(CommandRules, AgreeWithTheCommandTable) {
    const std::set<std::string> harmless = {"echo", "ping", "wait", "publish", "spublish"};
    redis::client store({.port = shared_server().port()});
    for (const char* category : {"connection", "transaction", "pubsub"}) {
        const redis::value listed =
            co_await store.command("COMMAND", "LIST", "FILTERBY", "ACLCAT", category);
        EXPECT_GT(listed.size(), 4U) << category;
        for (std::size_t i = 0; i < listed.size(); ++i) {
            const std::string name = listed[i].text();
            const std::size_t bar = name.find('|');
            const std::string first = name.substr(0, bar);
            const std::string second = bar == std::string::npos ? "" : name.substr(bar + 1);
            const std::set<std::string> reads = {"info",  "getredir", "unblock",     "unpause",
                                                 "kill",  "getname",  "list",        "id",
                                                 "pause", "help",     "trackinginfo"};
            const bool is_harmless = harmless.contains(first) || first == "command" ||
                                     first == "pubsub" ||
                                     (first == "client" && reads.contains(second));
            EXPECT_EQ(effect_of(first, second) == command_effect::none, is_harmless) << name;
        }
    }
    const redis::value blocking =
        co_await store.command("COMMAND", "LIST", "FILTERBY", "ACLCAT", "blocking");
    for (std::size_t i = 0; i < blocking.size(); ++i) {
        EXPECT_TRUE(may_block(blocking[i].text())) << blocking[i].text();
    }
}

WEIR_IO_TEST(CommandRules, OtherTasksKeepTheirAnswers) {
    redis::client store({.port = shared_server().port(), .database = 5});
    co_await store.set("balance", "100");
    const auto say = [&](const auto&... words) { static_cast<void>(store.command(words...)); };
    for (const char* each : {"MULTI", "exec", "DISCARD", "WATCH", "UNWATCH", "RESET", "QUIT",
                             "AUTH", "READONLY", "ASKING"}) {
        EXPECT_THROW(say(each, "x"), weir::invalid_argument) << each;
    }
    EXPECT_THROW(say("SELECT", 2), weir::invalid_argument);
    const std::vector<std::string> words = {"select", "2"};
    EXPECT_THROW(static_cast<void>(store.command_of(words)), weir::invalid_argument);
    redis::batch open_ended;
    open_ended.add("MULTI").add("GET", "balance");
    EXPECT_THROW(static_cast<void>(store.send(open_ended)), weir::invalid_argument);
    const std::optional<std::string> balance = co_await store.get("balance");
    EXPECT_EQ(balance, "100");
}

}  // namespace
