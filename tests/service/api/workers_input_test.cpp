// SPDX-License-Identifier: MIT
// Workers that send what is wrong, lie, or act for others; and tokens for workers.

#include "worker_client.hpp"

#include <array>
#include <random>
#include <vector>

namespace {

using namespace api_test;
using namespace std::chrono_literals;

std::string list_of(std::size_t count, const std::string& each) {
    std::string all = "[";
    for (std::size_t i = 0; i < count; ++i) {
        all += (i > 0 ? "," : "") + each;
    }
    return all + "]";
}

}  // namespace

WEIR_TEST(WorkerInput, IsCheckedAndNamed) {
    site here;
    co_await here.learn();
    here.start();
    co_await weir::sleep(10ms);
    worker one(here);
    co_await one.begin();
    const std::string run = R"({"id": "0000000000001", "run": 1)";
    struct request {
        const char* call;
        std::string body;
        unsigned code;
        const char* member;  // or part of the detail
    };
    const request all[] = {
        {"", "", 415, ""},
        {"", "{", 400, ""},
        {"", "[]", 422, "object"},
        {"", R"({"kinds": []})", 422, "kinds"},
        {"", R"({"kinds": "resize"})", 422, "kinds"},
        {"", R"({"kinds": [1]})", 422, "kinds"},
        {"", R"({"kinds": [""]})", 422, "kinds"},
        {"", R"({"kinds": ["echo"]})", 422, "has a handler in the service"},
        {"", R"({"kinds": ["a\u0001"]})", 422, "kinds"},
        {"", R"({"kinds": [")" + std::string(101, 'k') + R"("]})", 422, "kinds"},
        {"", R"({"kinds": )" + list_of(101, R"("a")") + "}", 422, "101 entries"},
        {"", R"({"kinds": ["a"], "queues": [""]})", 422, "queues"},
        {"", R"({"kinds": ["a"], "name": ""})", 422, "name"},
        {"", R"({"kinds": ["a"], "queue": "q"})", 422, "is unknown; known are"},
        {"poll", "{}", 422, "poll"},
        {"poll", R"({"poll": 0})", 422, "poll"},
        {"poll", R"({"poll": -1})", 422, "poll"},
        {"poll", R"({"poll": 1.5})", 422, "poll"},
        {"poll", R"({"poll": 1e300})", 422, "poll"},
        {"poll", R"({"poll": 1, "free": 0})", 422, "free"},
        {"poll", R"({"poll": 1, "free": 10001})", 422, "free"},
        {"poll", R"({"poll": 1, "wait": -1})", 422, "wait"},
        {"poll", R"({"poll": 1, "wait": "x"})", 422, "wait"},
        {"heartbeat", "{}", 422, "running"},
        {"heartbeat", R"({"running": {}})", 422, "running"},
        {"heartbeat", R"({"running": [{}]})", 422, "id"},
        {"heartbeat", R"({"running": [{"id": "x", "run": 1}]})", 422, "id"},
        {"heartbeat", R"({"running": [{"id": "0000000000001"}]})", 422, "run"},
        {"heartbeat", R"({"running": [)" + run + R"(, "progress": "half"}]})", 422, "progress"},
        {"heartbeat", R"({"running": [], "free": -1})", 422, "free"},
        {"heartbeat", R"({"running": [], "poll_age": -1})", 422, "poll_age"},
        {"heartbeat", R"({"running": [], "answered_poll": -1})", 422, "answered_poll"},
        {"heartbeat", R"({"running": [], "answered_poll": "all"})", 422, "answered_poll"},
        {"heartbeat", R"({"running": )" + list_of(10'001, run + "}") + "}", 422, "10001 entries"},
        {"results", "{}", 422, "array"},
        {"results", "[]", 422, "0 results"},
        {"results", "[1]", 422, "object"},
        {"results", list_of(1001, run + R"(, "outcome": "completed"})"), 413, "1001 results"},
        {"results", "[" + run + "}]", 422, "outcome"},
        {"results", "[" + run + R"(, "outcome": "done"}])", 422, "must be completed, failed"},
        {"results", "[" + run + R"(, "outcome": "postponed"}])", 422, "by"},
        {"results", "[" + run + R"(, "outcome": "failed", "permanent": 1}])", 422, "permanent"},
        {"results", "[" + run + R"(, "outcome": "failed", "retry_after": -1}])", 422,
         "retry_after"},
        {"results", "[" + run + R"(, "outcome": "failed", "retry_after": 1e12}])", 422,
         "retry_after"},
        {"results", R"([{"run": 1, "outcome": "completed"}])", 422, "result 0: "},
        {"results", "[" + run + R"(, "outcome": "completed", "result": 1e999}])", 400, ""},
        {"steps", run + "}", 422, "name"},
        {"steps", run + R"(, "name": ""})", 422, ""},
        {"steps",
         run + R"(, "name": "a", "result": )" + std::string(80, '[') + std::string(80, ']') + "}",
         422, "64 levels"},
        {"steps", run + R"(, "name": "a"})", 409, "does not belong to this worker"},
    };
    for (const request& each : all) {
        const std::string path =
            *each.call == '\0' ? "/workers" : "/workers/" + one.id + "/" + each.call;
        const answer refused = co_await here.post(path, each.body);
        EXPECT_EQ(refused.code, each.code) << each.call << each.body.substr(0, 80) << refused.text;
        EXPECT_NE(refused.text.find(each.member), std::string::npos)
            << each.call << " " << each.body.substr(0, 80) << ": " << refused.text;
    }
    const std::vector<std::string> strangers = {std::string(32, '0'), "x", std::string(32, 'A'),
                                                std::string(2000, 'a')};
    for (const char* call : {"poll", "heartbeat"}) {
        for (const std::string& unknown : strangers) {
            const bool is_poll = std::string_view(call) == "poll";
            const answer gone =
                co_await here.post("/workers/" + unknown + "/" + call,
                                   is_poll ? R"({"poll": 1})" : R"({"running": []})");
            EXPECT_EQ(gone.code, 410U) << gone.text;
        }
    }
    const answer still = co_await one.beat();
    EXPECT_EQ(still.code, 200U) << "nothing of that has harmed it";
    co_await here.stop();
}

WEIR_TEST(WorkerInput, OthersRunsAreNotTheirs) {
    site here;
    here.start();
    worker one(here);
    worker other(here);
    co_await one.begin();
    co_await other.begin();
    const std::string id = co_await here.submit(R"({"kind": "resize"})");
    const answer polled = co_await one.poll(1);
    for (const char* outcome :
         {completed, R"("outcome": "failed")", R"("outcome": "released")",
          R"("outcome": "cancelled")", R"("outcome": "postponed", "by": 1)"}) {
        const answer theft = co_await other.report(polled, outcome);
        EXPECT_FALSE(is_accepted(theft)) << outcome;
        EXPECT_NE(theft.text.find("does not belong to this worker"), std::string::npos);
    }
    std::string later = worker::result_of(polled, completed);
    later.replace(later.find(R"("run": 1)"), 8, R"("run": 2)");
    const answer future = co_await one.call("results", "[" + later + "]");
    EXPECT_FALSE(is_accepted(future)) << "a run that has not begun";
    // To list another worker's run neither keeps it nor harms it.
    for (int i = 0; i < 3; ++i) {
        co_await weir::sleep(10s);
        const answer lie = co_await other.beat(worker::run_of(polled));
        EXPECT_EQ(lie.json.at("lost").at(0).at("id").as_string(), id);
        co_await one.beat(worker::run_of(polled));
    }
    const answer task = co_await here.get("/tasks/" + id);
    EXPECT_EQ(task["state"], "running");
    EXPECT_EQ(task["node"], one.id);
    const answer mine = co_await one.report(polled, completed);
    EXPECT_TRUE(is_accepted(mine));
    // The same twice in one request is one completion.
    co_await here.submit(R"({"kind": "resize"})");
    const answer next = co_await one.poll(1);
    const std::string result = worker::result_of(next, completed);
    const answer twice = co_await one.call("results", "[" + result + "," + result + "]");
    EXPECT_EQ(twice.text, R"([{"accepted":true},{"accepted":true}])");
    EXPECT_EQ(here.tasks.stats().completed, 2U);
    co_await here.stop();
}

// Whatever workers send, the service neither fails nor loses a task that an honest worker runs.
WEIR_TEST(WorkerInput, RandomRequestsHarmNobody) {
    std::mt19937_64 random(7);
    const auto pick = [&](auto&&... of) {
        const std::array<std::string, sizeof...(of)> all = {std::string(of)...};
        return all[random() % all.size()];
    };
    for (int round = 0; round < 15; ++round) {
        site here;
        here.start();
        worker honest(here);
        worker liar(here);
        co_await honest.begin(R"({"kinds": ["resize"]})");
        co_await liar.begin(R"({"kinds": ["resize"], "queues": ["lies"]})");
        const std::string id = co_await here.submit(R"({"kind": "resize"})");
        const answer polled = co_await honest.poll(1);
        const std::string run = worker::run_of(polled);
        for (int i = 0; i < 40; ++i) {
            const std::string key = pick(run, R"({"id": "0000000000001", "run": 1})",
                                         R"({"id": ")" + id + R"(", "run": 7})");
            const std::string result =
                key.substr(0, key.size() - 1) + "," +
                pick(completed, R"("outcome": "failed")", R"("outcome": "released")",
                     R"("outcome": "cancelled")", R"("outcome": "?")") +
                "}";
            const std::string call = pick("poll", "heartbeat", "results", "steps", "drain");
            const std::string body =
                call == "poll" ? R"({"poll": )" + std::to_string(random() % 5) + R"(, "wait": 0})"
                : call == "heartbeat" ? R"({"running": [)" + key + "]}"
                : call == "results"   ? "[" + result + "," + result + "]"
                : call == "steps"     ? key.substr(0, key.size() - 1) + R"(, "name": "s"})"
                                      : "";
            const answer got = co_await liar.call(call, body);
            EXPECT_LT(got.code, 500U) << got.text;
            if (i % 8 == 0) {
                const answer beat = co_await honest.beat(run);
                EXPECT_EQ(beat.json.at("lost").as_array().size(), 0U) << beat.text;
            }
            co_await weir::sleep(std::chrono::milliseconds(random() % 700));
        }
        const answer mine = co_await honest.report(polled, completed);
        EXPECT_TRUE(is_accepted(mine));
        co_await here.stop();
    }
}

WEIR_TEST(WorkerInput, TokensAreForTheirKindsAndQueues) {
    constexpr std::array<std::string_view, 4> tokens = {
        "full-0123456789abcdef", "images-0123456789abcdef worker:resize,thumb@images",
        "all-0123456789abcdef name=all worker:resize", "many-0123456789abcdef worker:img/*@i*"};
    const auto with = [&](std::size_t index) {
        return fields{{"Authorization",
                       "Bearer " + std::string(tokens[index].substr(0, tokens[index].find(' ')))}};
    };
    site here({}, {.access = {.tokens = tokens}});
    here.start();
    const answer made =
        co_await here.post("/workers", R"({"kinds": ["resize", "thumb"]})", with(1));
    EXPECT_EQ(made.code, 201U) << made.text;
    const answer listed = co_await here.get("/workers", with(0));
    EXPECT_EQ(bj::serialize(listed.json.at("workers").at(0).at("queues")), R"(["images"])")
        << "the queue of its token";
    const std::pair<const char*, std::size_t> refused[] = {
        {R"({"kinds": ["resize", "other"]})", 1},
        {R"({"kinds": ["resize"], "queues": ["q"]})", 1},
        {R"({"kinds": ["thumb"]})", 2},
        {R"({"kinds": ["img/a"]})", 3},
        {R"({"kinds": ["imgs"], "queues": ["i"]})", 3}};
    for (const auto& [body, token] : refused) {
        const answer got = co_await here.post("/workers", body, with(token));
        EXPECT_EQ(got.code, 403U) << body << got.text;
        EXPECT_TRUE(got["scope"].starts_with("worker:")) << got.text;
    }
    const answer allowed =
        co_await here.post("/workers", R"({"kinds": ["img/a"], "queues": ["i/1"]})", with(3));
    EXPECT_EQ(allowed.code, 201U) << allowed.text;
    // A session belongs to those who could have made it.
    const std::string path = "/workers/" + made["worker"];
    const answer own = co_await here.post(path + "/poll", R"({"poll": 1, "wait": 0})", with(1));
    EXPECT_EQ(own.code, 204U);
    for (const std::size_t token : {2, 3}) {
        const answer theirs =
            co_await here.post(path + "/poll", R"({"poll": 2, "wait": 0})", with(token));
        EXPECT_EQ(theirs.code, 403U);
        const answer ended = co_await here.ask(http::method::delete_, path, "", with(token));
        EXPECT_EQ(ended.code, 403U);
    }
    // One for all queues is beyond a token for one.
    const answer wide = co_await here.post("/workers", R"({"kinds": ["resize"]})", with(0));
    const answer taken = co_await here.post("/workers/" + wide["worker"] + "/poll",
                                            R"({"poll": 1, "wait": 0})", with(1));
    EXPECT_EQ(taken.code, 403U) << taken.text;
    for (const std::string target : {"/tasks", "/workers", "/queues", "/metrics"}) {
        const answer read = co_await here.get(target, with(1));
        EXPECT_EQ(read.code, 403U) << target;
    }
    const answer claimed =
        co_await here.post("/claim", R"({"kind": "resize", "queue": "mail", "wait": 0})", with(1));
    EXPECT_EQ(claimed.code, 403U);
    co_await here.stop();
}
