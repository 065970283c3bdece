// SPDX-License-Identifier: MIT
// Payloads reach handlers, and results clients, byte by byte as they were written.

#include "base/raw_json.hpp"
#include "support.hpp"
#include <support/random_json.hpp>

#include <weir/service/handlers/trial.hpp>

#include <string>
#include <vector>

namespace payload_text_test {

using namespace api_test;
using namespace std::chrono_literals;
using weir::base::raw_member;
using weir_test::random_json;

std::string document(unsigned seed) {
    return random_json(seed, seed).text();
}

weir::task<> expect_text(site& here, std::string id, std::string written) {
    const answer found = co_await here.get("/tasks/" + id);
    EXPECT_EQ(raw_member(found.text, "payload"), written);
    EXPECT_EQ(raw_member(found.text, "result"), written);
}

std::string task_of(random_json& random, const std::string& payload, const std::string& more = "") {
    return random.blanks() + "{\"kind\":\"same\"," + random.blanks() +
           "\"payload\":" + random.blanks() + payload + random.blanks() + more + "}" +
           random.blanks();
}

// Alone, in batches of both forms, and with the name of the member in escapes.
WEIR_TEST(ServicePayloads, TenThousandDocumentsStayAsTheyAre) {
    site here;
    here.tasks.handle("same", &weir::service::echo);
    here.start();
    constexpr unsigned documents = 10'000;
    constexpr unsigned batch = 500;
    std::vector<std::string> ids;
    std::vector<std::string> written;
    for (unsigned seed = 0; seed < documents; ++seed) {
        written.push_back(document(seed));
    }
    for (unsigned first = 0; first < documents; first += batch) {
        random_json random(first, first);
        if (first % (2 * batch) == 0) {
            for (unsigned i = first; i < first + batch; ++i) {
                std::string body = task_of(random, written[i]);
                if (i % 7 == 0) {
                    body = R"({"payl\u006fad":)" + written[i] + R"(,"kind":"same"})";
                }
                const std::string id = co_await here.submit(body);
                ids.push_back(id);
            }
            continue;
        }
        std::string all = first % (4 * batch) == batch ? "[" : R"({"t\u0061sks":[)";
        const std::string end = all == "[" ? "]" : "]}";
        for (unsigned i = first; i < first + batch; ++i) {
            all += (i > first ? "," : "") + task_of(random, written[i]);
        }
        all += end;
        const answer response = co_await here.post("/tasks/batch", all);
        EXPECT_EQ(response["refused"], "0");
        for (const bj::value& each : response.json.at("results").as_array()) {
            ids.emplace_back(each.at("id").as_string());
        }
    }
    co_await weir::sleep(1min);
    EXPECT_EQ(ids.size(), documents);
    for (std::size_t i = 0; i < ids.size(); ++i) {
        co_await expect_text(here, ids[i], written[i]);
    }
    co_await here.stop();
}

WEIR_TEST(ServicePayloads, SchedulesKeepThemToo) {
    site here;
    here.tasks.handle("same", &weir::service::echo);
    here.start();
    std::vector<std::string> written;
    for (unsigned seed = 0; seed < 50; ++seed) {
        random_json random(seed, seed);
        written.push_back(random.text());
        const std::string path = "/schedules/s" + std::to_string(seed);
        const std::string body =
            R"({"cron": "* * * * *", "task":)" + task_of(random, written.back()) + "}";
        const answer made = co_await here.ask(http::method::put, path, body);
        EXPECT_LT(made.code, 300U) << made.text;
        EXPECT_EQ(raw_member(raw_member(made.text, "task"), "payload"), written.back());
    }
    co_await weir::sleep(2min);
    for (unsigned seed = 0; seed < 50; ++seed) {
        const std::string path = "/schedules/s" + std::to_string(seed);
        const answer made = co_await here.get(path);
        co_await expect_text(here, made["last_task"], written[seed]);
    }
    co_await here.stop();
}

// The same key with the same value, however it is written, is the same task.
WEIR_TEST(ServicePayloads, AnIdempotencyKeyComparesValues) {
    site here;
    here.tasks.handle("same", &weir::service::echo);
    for (unsigned seed = 0; seed < 300; ++seed) {
        random_json random(seed, seed);
        const fields key = {{"Idempotency-Key", "key" + std::to_string(seed)}};
        const std::string respelled = random_json(seed, seed + 1).text();
        const std::string first_body = task_of(random, document(seed));
        const std::string same_body = task_of(random, respelled);
        const std::string other_body = task_of(random, "[" + respelled + "]");
        const answer first = co_await here.post("/tasks", first_body, key);
        EXPECT_EQ(first.code, 202U) << first.text;
        const answer again = co_await here.post("/tasks", same_body, key);
        EXPECT_EQ(again.code, 200U) << document(seed) << "\n" << respelled;
        EXPECT_EQ(again["id"], first["id"]);
        const answer other = co_await here.post("/tasks", other_body, key);
        EXPECT_EQ(other.code, 409U);
    }
}

}  // namespace payload_text_test
