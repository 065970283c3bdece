// SPDX-License-Identifier: MIT
// Queues and schedules as lists with pages, and queues that are deleted.

#include "support.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace {

using namespace api_test;
using namespace std::chrono_literals;
using http::method;

// The names on each page, by the links from page to page.
weir::task<std::vector<std::vector<std::string>>> pages_of(site& here, std::string member,
                                                           std::string target) {
    std::vector<std::vector<std::string>> pages;
    while (!target.empty() && pages.size() < 20) {
        const answer page = co_await here.get(target);
        EXPECT_EQ(page.code, 200U) << target << " " << page.text;
        pages.emplace_back();
        for (const bj::value& each : page.json.at(member).as_array()) {
            pages.back().emplace_back(each.at("name").as_string());
        }
        const bj::value& next = page.json.at("next");
        target = next.is_null() ? "" : std::string(next.as_string());
    }
    co_return pages;
}

}  // namespace

WEIR_TEST(ServiceQueues, ListsOfNamesHavePages) {
    site here;
    co_await here.learn();
    // Each name must survive the link to the next page. Schedules have stricter ones.
    const std::vector<std::string> queues = {"a", "b & c", "d/e", "f=g", "h\u00e9"};
    const std::vector<std::string> schedules = {"a", "b.c", "d-e", "f_g", "h"};
    for (const std::string& each : queues) {
        co_await here.tasks.pause(each, true);
    }
    for (const std::string& each : schedules) {
        const answer made = co_await here.ask(method::put, "/schedules/" + each,
                                              R"({"cron": "0 0 1 1 *", "task": {"kind": "echo"}})");
        EXPECT_EQ(made.code, 200U) << made.text;
    }
    using pages = std::vector<std::vector<std::string>>;
    for (const std::string member : {"queues", "schedules"}) {
        const std::vector<std::string>& names = member == "queues" ? queues : schedules;
        const pages by_two = co_await pages_of(here, member, "/" + member + "?limit=2");
        EXPECT_EQ(by_two, (pages{{names[0], names[1]}, {names[2], names[3]}, {names[4]}}));
        for (const std::string all : {"", "?limit=5", "?limit=1000"}) {
            const pages at_once = co_await pages_of(here, member, "/" + member + all);
            EXPECT_EQ(at_once, pages{names}) << member << all;
        }
        // The name of a cursor may be gone meanwhile.
        const pages rest = co_await pages_of(here, member, "/" + member + "?limit=9&cursor=f");
        EXPECT_EQ(rest, (pages{{names[3], names[4]}})) << member;
        for (const std::string bad : {"limit=0", "limit=1001", "limit=-1", "limit=two",
                                      "limit=", "cursor=", "page=2", "limit=1&limit=2"}) {
            const answer refused = co_await here.get("/" + member + "?" + bad);
            EXPECT_EQ(refused.code, 422U) << member << " " << bad << " " << refused.text;
            EXPECT_EQ(refused["member"], bad.substr(0, bad.find('='))) << refused.text;
        }
    }
}

WEIR_TEST(ServiceQueues, AQueueIsDeletedWithItsTasks) {
    site here;
    co_await here.learn();
    here.start();
    const auto remove = [&](std::string target) {
        return here.ask(method::delete_, std::move(target), "");
    };
    const answer unknown = co_await remove("/queues/mail");
    EXPECT_EQ(unknown.code, 404U);

    const std::string ended = co_await here.submit(R"({"kind": "echo", "queue": "mail"})");
    const std::string kept = co_await here.submit(R"({"kind": "echo", "queue": "other"})");
    co_await here.submit(R"({"kind": "sleep", "payload": {"seconds": 5}, "queue": "mail"})");
    co_await weir::sleep(1s);
    const answer running = co_await remove("/queues/mail?force=true");
    EXPECT_EQ(running.code, 409U) << running.text;
    EXPECT_NE(running.text.find("0 pending and 1 running"), std::string::npos) << running.text;
    co_await weir::sleep(10s);
    const std::string waits =
        co_await here.submit(R"({"kind": "echo", "queue": "mail", "delay": 600})");
    for (const std::string careful : {"", "?force=false"}) {
        const answer pending = co_await remove("/queues/mail" + careful);
        EXPECT_EQ(pending.code, 409U) << pending.text;
        EXPECT_NE(pending.text.find("1 pending and 0 running"), std::string::npos) << pending.text;
    }
    const answer unclear = co_await remove("/queues/mail?force=yes");
    EXPECT_EQ(unclear.code, 422U);
    EXPECT_EQ(unclear["member"], "force");

    const answer removed = co_await remove("/queues/mail?force=true");
    EXPECT_EQ(removed.code, 200U) << removed.text;
    EXPECT_EQ(removed["queue"], "mail");
    EXPECT_EQ(removed["removed_tasks"], "3");
    const answer queue = co_await here.get("/queues/mail");
    EXPECT_EQ(queue.code, 404U) << queue.text;
    for (const std::string& id : {ended, waits}) {
        const answer gone = co_await here.get("/tasks/" + id);
        EXPECT_EQ(gone.code, 404U) << id << gone.text;
    }
    const answer other = co_await here.get("/tasks/" + kept);
    EXPECT_EQ(other["state"], "completed");
    // An empty queue needs no force, and a name can be used again.
    co_await here.submit(R"({"kind": "echo", "queue": "mail"})");
    co_await weir::sleep(1s);
    const answer again = co_await remove("/queues/mail");
    EXPECT_EQ(again["removed_tasks"], "1") << again.text;
    co_await here.stop();
}
