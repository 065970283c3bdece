// SPDX-License-Identifier: MIT
// The log has a line for each task that has failed for good, and for no other.

#include "service/engine/failure_line.hpp"

#include "components.hpp"

#include <algorithm>

namespace weir::service::testing {
namespace {

TEST(FailureLine, IsOneLine) {
    task_record task;
    task.id = task_id(7);
    task.kind = "mail";
    task.queue = "a\nb";
    EXPECT_EQ(detail::failure_line(task, 3, "first\nsecond\x1b[31m"),
              "task " + task_id(7).text() +
                  " has failed: kind 'mail', queue 'a b', 3 attempts: first second [31m");
    const std::string cut = detail::failure_line(task, 1, std::string(100'000, 'x'));
    EXPECT_LT(cut.size(), 500u);
    EXPECT_NE(cut.find("1 attempt: xxx"), std::string::npos);
    EXPECT_TRUE(cut.ends_with("...")) << cut;
}

struct logged_line {
    log_level level;
    std::string text;
};

std::size_t count_failures(const std::vector<logged_line>& lines) {
    return static_cast<std::size_t>(std::ranges::count_if(lines, [](const logged_line& each) {
        return each.text.find("has failed: kind") != std::string::npos;
    }));
}

WEIR_TEST(FailureLine, IsLoggedWhenTheLastAttemptHasFailed) {
    memory_store store;
    std::vector<logged_line> lines;
    service tasks(store, {.log = [&lines](log_level level, std::string_view text) {
                      lines.push_back({level, std::string(text)});
                  }});
    tasks.handle("fail", [](job&) -> task<json> {
        throw std::runtime_error("out of\npaper");
        co_return nullptr;
    });
    tasks.handle("work", do_nothing);
    started running(tasks);
    new_task fails("fail");
    fails.retry.max_attempts = 2;
    fails.queue = "print";
    const task_id id = co_await submit(tasks, fails);
    co_await submit(tasks, "work");
    co_await advance(100ms);
    EXPECT_EQ(count_failures(lines), 0u) << "it is retried";
    co_await advance(1min);
    EXPECT_EQ(count_failures(lines), 1u);
    const auto found = std::ranges::find_if(lines, [](const logged_line& each) {
        return each.text.find("has failed") != std::string::npos;
    });
    WEIR_ASSERT_TRUE(found != lines.end());
    EXPECT_EQ(found->level, log_level::warning);
    EXPECT_EQ(found->text, "task " + id.text() +
                               " has failed: kind 'fail', queue 'print', 2 attempts: out of paper");
    co_await running.end();
}

// The answer to the settlement was lost, so that the repeated one finds the task settled.
WEIR_TEST(FailureLine, IsLoggedOnceThoughTheAnswerWasLost) {
    components parts;
    co_await parts.register_node();
    parts.handlers.add("fail",
                       [](job&) -> task<json> {
                           throw permanent_failure("never");
                           co_return nullptr;
                       },
                       {});
    co_await parts.submit(new_task("fail"));
    task_record claimed = co_await parts.claim_one();
    int calls = 0;
    parts.memory.on_call([&](store_call which) {
        const bool fails = which == store_call::settle && ++calls <= 2;
        return fails ? store_fault::fails_after : store_fault::none;
    });
    const handle<> settling = weir::spawn(parts.settler.run());
    auto body = [&](task_group& group) -> task<> {
        parts.runner.start(claimed, parts.leases.current(), false, group);
        co_await parts.runner.wait_until_idle();
        co_await parts.settler.wait_until_settled(1min);
    };
    co_await with_group(body);
    EXPECT_EQ(calls, 3);
    EXPECT_EQ(parts.logged("has failed: kind 'fail', queue 'default', 1 attempt: never"), 1u);
    settling.cancel();
    co_await settling.wait();
}

WEIR_TEST(FailureLine, IsLoggedForATaskThatHasCrashedTooOften) {
    components parts({.max_crashes = 1});
    parts.handlers.add("work", do_nothing, {});
    co_await parts.register_node();
    const task_id id = co_await parts.submit(new_task("work"));
    node_record other;
    other.id = "other";
    other.host = "another machine";
    other.expires_at = parts.time.now() + 1s;
    co_await parts.memory.heartbeat(other, parts.time.now());
    claim_request request;
    request.node = other.id;
    request.now = parts.time.now();
    co_await parts.memory.claim(request);
    const handle<> rescuing = weir::spawn(parts.rescuer.run());
    co_await sleep(4s);
    EXPECT_EQ(parts.logged("task " + id.text() +
                           " has failed: kind 'work', queue 'default', 1 "
                           "attempt: the process that ran the task"),
              1u);
    EXPECT_EQ(parts.metrics.series_of(new_task("work")).failed, 1u);
    rescuing.cancel();
    co_await rescuing.wait();
}

}  // namespace
}  // namespace weir::service::testing
