// SPDX-License-Identifier: MIT
#include "service/engine/endpoint_list.hpp"

#include "support.hpp"

namespace weir::service::testing {
namespace {

// A service whose handler says that the endpoint in the payload is gone, while `is_gone`.
class gone_service {
public:
    explicit gone_service(store& kept) : tasks(kept) {
        destination_rule where;
        where.name_of = [](const json&) { return std::string("host"); };
        where.endpoint_of = [](const json& payload) {
            return std::string(payload.as_string().c_str());
        };
        tasks.handle(
            "send",
            [this](job& current) -> task<json> {
                ++sent;
                if (is_gone) {
                    current.report_gone();
                    throw permanent_failure("410 Gone");
                }
                co_return nullptr;
            },
            {}, std::move(where));
    }
    task<task_record> send(std::string endpoint) {
        const task_id id = co_await submit(tasks, "send", '"' + endpoint + '"');
        co_await sleep(1s);
        task_record ended = co_await record_of(tasks.kept_in(), id);
        co_return ended;
    }

    service tasks;
    bool is_gone = true;
    int sent = 0;
};

WEIR_TEST(EndpointList, TasksOfAGoneEndpointFailWithoutARun) {
    memory_store store;
    gone_service here(store);
    started running(here.tasks);
    task_record ended = co_await here.send("a");
    EXPECT_EQ(ended.state, task_state::failed);
    EXPECT_EQ(ended.error, "410 Gone");
    EXPECT_EQ(here.sent, 1);
    here.is_gone = false;
    ended = co_await here.send("a");
    EXPECT_EQ(here.sent, 1);
    EXPECT_EQ(ended.state, task_state::failed);
    EXPECT_EQ(ended.error,
              "the endpoint a is disabled: 410 Gone (enable it with POST /destinations/enable or "
              "`weir enable`)");
    ended = co_await here.send("b");  // another endpoint of the same destination
    EXPECT_EQ(ended.state, task_state::completed);
    const bool is_enabled = co_await here.tasks.enable_endpoint("send", "a");
    EXPECT_TRUE(is_enabled);
    ended = co_await here.send("a");
    EXPECT_EQ(ended.state, task_state::completed);
    co_await running.end();
}

WEIR_TEST(EndpointList, SurvivesARestartAndReachesOtherNodes) {
    memory_store store;
    {
        gone_service first(store);
        started running(first.tasks);
        co_await first.send("a");
        co_await running.end();
    }
    gone_service second(store);
    gone_service third(store);
    started running(second.tasks);
    started beside(third.tasks);
    const task_record ended = co_await second.send("a");
    EXPECT_EQ(ended.state, task_state::failed);
    EXPECT_EQ(second.sent + third.sent, 0);
    // A node learns within seconds of what happened on another one.
    second.is_gone = third.is_gone = false;
    co_await second.tasks.enable_endpoint("send", "a");
    co_await sleep(6s);
    for (int i = 0; i < 10; ++i) {
        const task_record next = co_await second.send("a");
        EXPECT_EQ(next.state, task_state::completed);
    }
    co_await running.end();
    co_await beside.end();
}

WEIR_TEST(EndpointList, ARunThatSucceedsAllTheSameDisablesNothing) {
    memory_store store;
    service tasks(store);
    destination_rule where;
    where.endpoint_of = [](const json&) { return std::string("a"); };
    tasks.handle(
        "send",
        [](job& current) -> task<json> {
            current.report_gone();
            co_return nullptr;
        },
        {}, std::move(where));
    started running(tasks);
    co_await submit(tasks, "send");
    co_await sleep(1s);
    const std::vector<endpoint_record> disabled = co_await tasks.disabled_endpoints();
    EXPECT_TRUE(disabled.empty());
    co_await running.end();
}

WEIR_TEST(EndpointList, WaitsForTheStoreBeforeTheFirstRun) {
    memory_store store;
    {
        gone_service first(store);
        started running(first.tasks);
        co_await first.send("a");
        co_await running.end();
    }
    int calls = 0;
    store.on_call([&](store_call which) {
        return which == store_call::disabled_endpoints && ++calls <= 3 ? store_fault::fails
                                                                       : store_fault::none;
    });
    gone_service second(store);
    started running(second.tasks);
    co_await sleep(10s);
    const task_record ended = co_await second.send("a");
    EXPECT_EQ(ended.state, task_state::failed);
    EXPECT_EQ(second.sent, 0);
    EXPECT_GT(calls, 3);
    co_await running.end();
}

}  // namespace
}  // namespace weir::service::testing
