// SPDX-License-Identifier: MIT
// Each route, in simulated time; refusals and their reasons; the description.

#include "support.hpp"

#include <weir/flow/prometheus.hpp>
#include <weir/http/link.hpp>

#include <algorithm>
#include <random>
#include <set>

namespace {

using namespace api_test;
using namespace std::chrono_literals;
using http::method;

}  // namespace

WEIR_TEST(ServiceApi, ATaskIsSubmittedAndPolled) {
    site here;
    co_await here.learn();
    here.start();
    const answer response =
        co_await here.post("/tasks", R"({"kind": "echo", "payload": {"n": [1, 2.50]}})");
    EXPECT_EQ(response.code, 202U);
    const std::string id = response["id"];
    EXPECT_EQ(response["task_id"], id);
    EXPECT_EQ(response["state"], "pending");
    EXPECT_EQ(response["duplicate"], "false");
    EXPECT_EQ(response.headers.get("Location"), "/tasks/" + id);
    co_await weir::sleep(1s);
    const answer done = co_await here.get("/tasks/" + id);
    EXPECT_EQ(done.code, 200U);
    EXPECT_EQ(done["id"], id);
    EXPECT_EQ(done["state"], "completed");
    EXPECT_EQ(done["status"], "completed");
    EXPECT_NE(done.text.find(R"("payload":{"n": [1, 2.50]})"), std::string::npos);
    EXPECT_EQ(done.json.at("result").at("n").at(1).to_number<double>(), 2.5);
    EXPECT_TRUE(done.json.at("error").is_null());
    EXPECT_TRUE(done.json.at("attempts").as_array().empty());
    EXPECT_FALSE(done.json.at("finished_at").is_null());

    const answer none = co_await here.get("/tasks/0000000000001");
    EXPECT_EQ(none.code, 404U);
    EXPECT_EQ(none.headers.get("Cache-Control"), "no-store");
    for (const std::string odd :
         {"/tasks/1", "/tasks/%00", "/tasks/..%2f", "/tasks/UUUUUUUUUUUUU"}) {
        const answer missing = co_await here.get(odd);
        EXPECT_TRUE(missing.code == 404 || missing.code == 400) << odd << missing.code;
    }
    const answer kinds = co_await here.get("/kinds");
    EXPECT_EQ(kinds["kinds"], R"(["echo","fail","sleep"])");
    co_await here.stop();
}

// All responses are validated against the description; this shows that the validation finds errors.
WEIR_TEST(ServiceApi, RefusesOptionsThatAllowNothing) {
    const auto is_refused = [](const api_options& options) {
        try {
            const site made({}, options);
        } catch (const weir::invalid_argument&) {
            return true;
        }
        return false;
    };
    EXPECT_FALSE(is_refused({.feed_interval = 0s}));
    EXPECT_TRUE(is_refused({.max_body = 0}));
    EXPECT_TRUE(is_refused({.max_batch = 0}));
    EXPECT_TRUE(is_refused({.max_page = 0}));
    EXPECT_TRUE(is_refused({.feed_interval = -1s}));
    EXPECT_TRUE(is_refused({.feed_tasks = 0}));
    EXPECT_TRUE(is_refused({.max_subscriptions = 0}));
    co_return;
}

WEIR_TEST(ServiceApi, TheDescriptionIsStrict) {
    site here;
    co_await here.learn();
    const schema_check fits(here.description());
    const auto verdict = [&](std::string name, const char* json) {
        return fits(fits.resolve("#/components/schemas/" + name), http::parse_json(json));
    };
    const std::string id = R"("id": "0000000000001", "task_id": "0000000000001")";
    EXPECT_EQ(verdict("Submitted", ("{" + id + R"(, "duplicate": false})").c_str()), "");
    EXPECT_EQ(verdict("Submitted", ("{" + id + "}").c_str()), "$ has no duplicate");
    EXPECT_NE(verdict("Submitted", ("{" + id + R"(, "duplicate": 1})").c_str()), "");
    EXPECT_NE(verdict("Submitted", ("{" + id + R"(, "duplicate": false, "x": 1})").c_str()), "");
    EXPECT_NE(verdict("State", R"("done")"), "");
    EXPECT_EQ(verdict("NewTask", R"({"kind": "a", "priority": 5.0})"), "");
    EXPECT_NE(verdict("NewTask", R"({"kind": "a", "priority": 5.5})"), "");
    EXPECT_NE(verdict("NewTask", R"({"kind": "a", "priority": 1001})"), "");
    EXPECT_NE(verdict("NewTask", R"({"kind": ""})"), "");
    EXPECT_NE(verdict("NewTask", R"({"kind": "a", "backoff": "1"})"), "");
    EXPECT_NE(verdict("Queues", R"({"queues": [{"name": 1}]})"), "");
}

WEIR_TEST(ServiceApi, RefusalsSayWhatIsWrong) {
    site here({}, {.max_body = 2000, .max_batch = 3});
    co_await here.learn();
    const std::pair<std::string, unsigned> bodies[] = {
        {R"({"kind": "echo", "pay": 1})", 422},
        {R"({"kind": "unknown"})", 422},
        {R"({"kind": ""})", 422},
        {R"({"kind": "echo", "priority": 100000})", 422},
        {R"({"kind": "echo", "run_at": "9999-99-99T00:00:00Z"})", 422},
        {R"({"kind": "echo", "tags": ["a", 1]})", 422},
        {R"("echo")", 422},
        {"[]", 422},
        {"{", 400},
        {R"({"kind": "echo", "payload": ")" + std::string(3000, 'a') + "\"}", 413},
        {std::string(1500, '['), 400},
    };
    for (const auto& [body, code] : bodies) {
        const answer refused = co_await here.post("/tasks", body);
        EXPECT_EQ(refused.code, code) << body << refused.text;
        EXPECT_FALSE(refused.detail().empty());
    }
    const answer unknown = co_await here.post("/tasks", R"({"kind": "unknown"})");
    EXPECT_NE(unknown.detail().find("echo"), std::string::npos) << unknown.text;
    const answer member = co_await here.post("/tasks", R"({"kind": "echo", "dealy": 1})");
    EXPECT_EQ(member["member"], "dealy");
    EXPECT_NE(member.detail().find("delay"), std::string::npos);
    const fields plain{{"Content-Type", "text/plain"}};
    const answer text = co_await here.post("/tasks", R"({"kind": "echo"})", plain);
    EXPECT_EQ(text.code, 415U);
    const fields form{{"Content-Type", "application/x-www-form-urlencoded"}};
    const answer posted = co_await here.post("/tasks", "kind=echo", form);
    EXPECT_EQ(posted.code, 415U);
    const fields wide{{"Content-Type", "application/json; charset=utf-16"}};
    const answer coded = co_await here.post("/tasks", R"({"kind": "echo"})", wide);
    EXPECT_EQ(coded.code, 415U);
    // With any content of a name, the message is complete and names the member.
    const std::pair<std::string, std::string> blamed[] = {
        {R"({"kind": "echo", "a\u0000b\n": 1})", "the member 'a\\x00b\\x0a' is unknown; known are"},
        {R"({"kind": 7})", "the member 'kind' must be a string"},
        {R"({"kind": "echo", "run_at": 7})", "the member 'run_at' must be a string"},
        {R"({"kind": "echo", "backoff": {"\u0000": 1}})",
         "in 'backoff': the member '\\x00' is unknown; known are: initial, factor, max, jitter"},
        {R"({"kind": "echo", "backoff": {"factor": "x"}})",
         "in 'backoff': the member 'factor' must be a number"}};
    for (const auto& [body, detail] : blamed) {
        const answer refused = co_await here.post("/tasks", body);
        EXPECT_EQ(refused.code, 422U) << body;
        EXPECT_EQ(refused.detail().substr(0, detail.size()), detail);
        EXPECT_TRUE(refused.json.as_object().contains("member")) << refused.text;
    }
    // What the task's own checks and its handler refuse names the member as well.
    const std::pair<std::string, std::string> members[] = {
        {R"({"kind": "unknown"})", "kind"},
        {R"({"kind": "echo", "queue": ".."})", "queue"},
        {R"({"kind": "echo", "priority": 1.5})", "priority"},
        {R"({"kind": "echo", "tags": [""]})", "tags"},
        {R"({"kind": "echo", "backoff": {"jitter": 2}})", "backoff"},
        {R"({"kind": "echo", "flow_key": "\u0001"})", "flow_key"}};
    for (const auto& [body, name] : members) {
        const answer refused = co_await here.post("/tasks", body);
        EXPECT_EQ(refused.code, 422U) << body;
        EXPECT_EQ(refused["member"], name) << refused.text;
    }
    const fields zipped{{"Content-Type", "application/json"}, {"Content-Encoding", "gzip"}};
    const answer compressed = co_await here.post("/tasks", R"({"kind": "echo"})", zipped);
    EXPECT_EQ(compressed.code, 415U) << compressed.text;
    const fields same{{"Content-Type", "application/json"}, {"Content-Encoding", "identity"}};
    const answer identity = co_await here.post("/tasks", R"({"kind": "unknown"})", same);
    EXPECT_EQ(identity.code, 422U) << identity.text;
    const answer range = co_await here.post("/tasks", R"({"kind": "echo", "priority": 5000})");
    EXPECT_EQ(range.detail(), "the member 'priority' must be a whole number from -1000 to 1000");
    EXPECT_EQ(range["member"], "priority");
    const answer key = co_await here.post("/tasks", R"({"kind": "echo", "queue": "\u0000"})");
    EXPECT_EQ(key.detail(),
              "task: queue is '\\x00'; it must have 1 to 100 bytes, without control characters");
    const answer parameter = co_await here.get("/tasks?a%00b=1");
    EXPECT_EQ(parameter.detail().find("the parameter 'a\\x00b' must be left out"), 0U);
    const answer method_wrong = co_await here.ask(method::put, "/tasks", "{}");
    EXPECT_EQ(method_wrong.code, 405U);
    EXPECT_EQ(method_wrong.headers.get("Content-Security-Policy").substr(0, 18),
              "default-src 'self'");
    for (const char* query : {"?limit=0", "?state=x", "?cursor=x", "?nothing=1", "?from=x",
                              "?queue=%ff", "?limit=99999999999999999999"}) {
        const answer refused = co_await here.get(std::string("/tasks") + query);
        EXPECT_EQ(refused.code, 422U) << query;
    }
    const answer broken = co_await here.get("/tasks?queue=%zz");
    EXPECT_EQ(broken.code, 400U);
    for (const char* queue : {"/queues/%ff/pause", "/queues/%0a/pause", "/queues/a%7f/resume"}) {
        const answer refused = co_await here.post(queue);
        EXPECT_EQ(refused.code, 422U) << queue;
    }
    const std::string name(101, 'a');
    const answer long_name = co_await here.post("/queues/" + name + "/pause");
    EXPECT_EQ(long_name.code, 422U);
    const answer queues = co_await here.get("/queues");
    EXPECT_EQ(queues["queues"], "[]");  // no task of the request was stored
}

WEIR_TEST(ServiceApi, KeysMakeSubmitsRepeatable) {
    site here;
    co_await here.learn();
    const std::string body = R"({"kind": "echo", "payload": {"a": 1}, "idempotency_key": "k1"})";
    const answer first = co_await here.post("/tasks", body);
    EXPECT_EQ(first.code, 202U);
    const answer second = co_await here.post("/tasks", body);
    EXPECT_EQ(second.code, 200U);
    EXPECT_EQ(second["id"], first["id"]);
    EXPECT_EQ(second["duplicate"], "true");
    EXPECT_EQ(second.headers.get("Location"), "/tasks/" + first["id"]);
    // Blanks make no other task.
    const answer third = co_await here.post(
        "/tasks", R"({"idempotency_key": "k1", "payload": { "a" : 1 }, "kind":"echo"})");
    EXPECT_EQ(third.code, 200U) << third.text;
    const answer other = co_await here.post(
        "/tasks", R"({"kind": "echo", "payload": {"a": 2}, "idempotency_key": "k1"})");
    EXPECT_EQ(other.code, 409U);
    EXPECT_EQ(other["id"], first["id"]);
    const std::string plain = R"({"kind": "echo", "payload": {"a": 1}})";
    const fields key{{"Idempotency-Key", "k1"}};
    const answer by_header = co_await here.post("/tasks", plain, key);
    EXPECT_EQ(by_header.code, 200U);
    const fields quoted{{"Idempotency-Key", "\"k1\""}};
    const answer by_quoted = co_await here.post("/tasks", plain, quoted);
    EXPECT_EQ(by_quoted["id"], first["id"]);
    const fields wrong{{"Idempotency-Key", "k2"}};
    const answer differs = co_await here.post("/tasks", body, wrong);
    EXPECT_EQ(differs.code, 422U);
    const fields odd{{"Idempotency-Key", "\xff\xfe"}};
    const answer bad = co_await here.post("/tasks", plain, odd);
    EXPECT_EQ(bad.code, 422U);
    const fields empty{{"Idempotency-Key", "\"\""}};
    const answer nothing = co_await here.post("/tasks", plain, empty);
    EXPECT_EQ(nothing.code, 422U);
}

WEIR_TEST(ServiceApi, BatchesAnswerForEach) {
    site here({}, {.max_batch = 5});
    co_await here.learn();
    const std::string body = R"([
        {"kind": "echo", "payload": {"x": "[1,{"}, "idempotency_key": "a"},
        {"kind": "nobody"},
        {"kind": "echo", "idempotency_key": "a", "payload": {"x":"[1,{"}},
        7,
        {"kind": "echo", "idempotency_key": "a"}])";
    const answer response = co_await here.post("/tasks/batch", body);
    EXPECT_EQ(response.code, 200U) << response.text;
    const bj::array& results = response.json.at("results").as_array();
    WEIR_ASSERT_EQ(results.size(), 5U);
    EXPECT_EQ(results[0].at("duplicate"), false);
    EXPECT_EQ(results[1].at("error").at("status"), 422);
    EXPECT_EQ(results[2].at("duplicate"), true);
    EXPECT_EQ(results[2].at("id"), results[0].at("id"));
    EXPECT_EQ(results[3].at("error").at("status"), 422);
    EXPECT_EQ(results[4].at("error").at("status"), 409);
    EXPECT_EQ(response["made"], "1");
    EXPECT_EQ(response["duplicates"], "1");
    EXPECT_EQ(response["refused"], "3");
    const std::string first(results[0].at("id").as_string());
    const answer kept = co_await here.get("/tasks/" + first);
    EXPECT_NE(kept.text.find(R"("payload":{"x": "[1,{"})"), std::string::npos);

    // The whole batch again, by one key.
    const std::string plain =
        R"({"tasks": [{"kind": "echo", "payload": 1}, {"kind": "echo", "payload": 2}]})";
    const fields key{{"Idempotency-Key", "batch-7"}};
    const answer once = co_await here.post("/tasks/batch", plain, key);
    const answer again = co_await here.post("/tasks/batch", plain, key);
    EXPECT_EQ(once["made"], "2");
    EXPECT_EQ(again["duplicates"], "2");
    EXPECT_EQ(once.json.at("results").at(1).at("id"), again.json.at("results").at(1).at("id"));

    const answer none = co_await here.post("/tasks/batch", "[]");
    EXPECT_EQ(none["made"], "0");
    const answer many = co_await here.post("/tasks/batch", "[1,2,3,4,5,6]");
    EXPECT_EQ(many.code, 413U);
    for (const char* bad : {"7", "{}", R"({"tasks": 1})", R"({"tasks": [], "more": 1})", "null"}) {
        const answer refused = co_await here.post("/tasks/batch", bad);
        EXPECT_EQ(refused.code, 422U) << bad;
    }
    const answer escaped =
        co_await here.post("/tasks/batch", R"({"t\u0061sks": [{"kind": "echo", "payload": [1]}]})");
    EXPECT_EQ(escaped["made"], "1");
}

WEIR_TEST(ServiceApi, ListsHavePagesAndFilters) {
    site here;
    co_await here.learn();
    for (int i = 0; i < 25; ++i) {
        const std::string queue = i % 2 == 0 ? "even" : "odd queue & more";
        co_await here.submit(R"({"kind": "echo", "queue": ")" + queue + R"(", "tags": ["t)" +
                             std::to_string(i % 5) + R"("], "flow_key": "k)" +
                             std::to_string(i % 3) + R"("})");
        co_await weir::sleep(1s);
    }
    co_await here.submit(R"({"kind": "echo", "delay": 1000})");
    std::set<std::string> seen;
    std::string next = "/tasks?limit=4&queue=odd+queue+%26+more";
    int pages = 0;
    while (!next.empty()) {
        const answer page = co_await here.get(next);
        EXPECT_EQ(page.code, 200U);
        std::string last = "~";
        for (const bj::value& each : page.json.at("tasks").as_array()) {
            EXPECT_EQ(each.at("queue"), "odd queue & more");
            EXPECT_FALSE(each.as_object().contains("payload"));
            const std::string id(each.at("id").as_string());
            EXPECT_LT(id, last);  // the newest first
            EXPECT_TRUE(seen.insert(id).second);
            last = id;
        }
        const bj::value& link = page.json.at("next");
        next = link.is_null() ? "" : std::string(link.as_string());
        const auto by_header = http::find_link(page.headers, "next");
        EXPECT_EQ(by_header ? by_header->target : "", next);
        ++pages;
    }
    EXPECT_EQ(seen.size(), 12U);
    EXPECT_EQ(pages, 3);
    const auto count = [&](std::string query) -> weir::task<std::size_t> {
        const answer page = co_await here.get("/tasks?limit=200&" + query);
        EXPECT_EQ(page.code, 200U) << query << page.text;
        co_return page.json.at("tasks").as_array().size();
    };
    const std::pair<std::string, std::size_t> cases[] = {
        {"tag=t3", 5},       {"flow_key=k0", 9},       {"kind=echo", 26},
        {"kind=fail", 0},    {"status=scheduled", 1},  {"state=pending", 26},
        {"state=failed", 0}, {"queue=even&tag=t0", 3}, {"to=1970-01-01T00:00:00Z", 0}};
    for (const auto& [query, expected] : cases) {
        const std::size_t found = co_await count(query);
        EXPECT_EQ(found, expected) << query;
    }
}

WEIR_TEST(ServiceApi, TasksAreCancelledRetriedAndExplained) {
    site here({.workers = 1});
    co_await here.learn();
    here.start();
    const std::string later = co_await here.submit(R"({"kind": "echo", "delay": 3600})");
    const answer why_later = co_await here.get("/tasks/" + later + "/why");
    EXPECT_EQ(why_later.json.at("reasons").at(0).at("reason"), "not_due");
    EXPECT_FALSE(why_later.json.at("reasons").at(0).at("until").is_null());
    EXPECT_EQ(why_later["status"], "scheduled");
    const answer cancelled = co_await here.post("/tasks/" + later + "/cancel");
    EXPECT_EQ(cancelled.code, 200U);
    EXPECT_EQ(cancelled["cancel"], "done");
    const answer twice = co_await here.post("/tasks/" + later + "/cancel");
    EXPECT_EQ(twice.code, 409U);
    const answer none = co_await here.post("/tasks/0000000000001/cancel");
    EXPECT_EQ(none.code, 404U);
    const answer again = co_await here.post("/tasks/" + later + "/retry");
    EXPECT_EQ(again.code, 200U);
    co_await weir::sleep(1s);
    const answer done = co_await here.get("/tasks/" + later);
    EXPECT_EQ(done["state"], "completed");
    const answer over = co_await here.post("/tasks/" + later + "/retry");
    EXPECT_EQ(over.code, 409U);
    const answer why_done = co_await here.get("/tasks/" + later + "/why");
    EXPECT_EQ(why_done.json.at("reasons").at(0).at("reason"), "finished");

    const std::string slow =
        co_await here.submit(R"({"kind": "sleep", "payload": {"seconds": 100}})");
    co_await weir::sleep(1s);
    const std::string behind = co_await here.submit(R"({"kind": "echo"})");
    const answer why_busy = co_await here.get("/tasks/" + behind + "/why");
    EXPECT_EQ(why_busy.json.at("reasons").at(0).at("reason"), "workers_busy") << why_busy.text;
    const answer response = co_await here.post("/tasks/" + slow + "/cancel");
    EXPECT_EQ(response.code, 202U);
    EXPECT_EQ(response["cancel"], "requested");
    co_await weir::sleep(5s);
    const answer ended = co_await here.get("/tasks/" + slow);
    EXPECT_EQ(ended["state"], "cancelled");
    const answer ran = co_await here.get("/tasks/" + behind);
    EXPECT_EQ(ran["state"], "completed");

    const std::string bad = co_await here.submit(
        R"({"kind": "fail", "queue": "q", "max_attempts": 3, "backoff": {"initial": 1, "jitter": 0}})");
    co_await weir::sleep(500ms);
    const answer retrying = co_await here.get("/tasks/" + bad);
    EXPECT_EQ(retrying["status"], "retrying");
    EXPECT_EQ(retrying["state"], "pending");
    co_await weir::sleep(30s);
    const answer failed = co_await here.get("/tasks/" + bad);
    EXPECT_EQ(failed["state"], "failed");
    EXPECT_EQ(failed["failures"], "3");
    EXPECT_EQ(failed.json.at("attempts").as_array().size(), 3U);
    EXPECT_EQ(failed["error"], "it went wrong \uFFFD <b>");
    EXPECT_EQ(failed.text.find('\xff'), std::string::npos);
    const answer driven = co_await here.post("/queues/q/redrive");
    EXPECT_EQ(driven["redriven"], "1");
    const answer limited = co_await here.post("/queues/q/redrive?limit=5&kind=fail");
    EXPECT_EQ(limited["redriven"], "0");
    const answer refused = co_await here.post("/queues/q/redrive?state=failed");
    EXPECT_EQ(refused.code, 422U);
    const answer by_status = co_await here.post("/queues/q/redrive?status=failed");
    EXPECT_EQ(by_status.code, 422U);
    const answer longest = co_await here.post("/tasks", R"({"kind": "fail", "timeout": 10000000})");
    EXPECT_EQ(longest.code, 202U) << longest.text;
    const answer longer = co_await here.post("/tasks", R"({"kind": "fail", "timeout": 10000001})");
    EXPECT_EQ(longer.code, 422U) << longer.text;
    co_await here.stop();
}

WEIR_TEST(ServiceApi, EndedTasksAreDeleted) {
    site here({.workers = 1});
    co_await here.learn();
    here.start();
    const std::string later = co_await here.submit(R"({"kind": "echo", "delay": 3600})");
    const std::string done = co_await here.submit(R"({"kind": "echo", "idempotency_key": "k"})");
    co_await weir::sleep(1s);
    const auto remove = [&](std::string id) {
        return here.ask(method::delete_, "/tasks/" + id, "");
    };
    const answer early = co_await remove(later);
    EXPECT_EQ(early.code, 409U);
    EXPECT_NE(early.detail().find("cancel it first"), std::string::npos) << early.text;
    const answer removed = co_await remove(done);
    EXPECT_EQ(removed.code, 200U);
    EXPECT_EQ(removed["id"], done);
    EXPECT_EQ(removed["delete"], "done");
    const answer twice = co_await remove(done);
    EXPECT_EQ(twice.code, 404U);
    const answer invalid = co_await remove("nonsense");
    EXPECT_EQ(invalid.code, 404U);
    EXPECT_NE(invalid.detail().find("'nonsense'"), std::string::npos) << invalid.text;
    const answer gone = co_await here.get("/tasks/" + done);
    EXPECT_EQ(gone.code, 404U);
    const std::string again = co_await here.submit(R"({"kind": "echo", "idempotency_key": "k"})");
    EXPECT_NE(again, done);
    co_await here.stop();
}

// A client that lost the first response repeats the request; the task has not ended yet.
WEIR_TEST(ServiceApi, ACancelMayBeRepeated) {
    site here({.workers = 1});
    here.tasks.handle("stubborn", [](job&) -> weir::task<bj::value> {
        auto clean = []() -> weir::task<> { co_await weir::sleep(10s); };
        co_await weir::finally(weir::sleep(1h), clean);
        co_return nullptr;
    });
    co_await here.learn();
    here.start();
    const std::string id = co_await here.submit(R"({"kind": "stubborn"})");
    co_await weir::sleep(1s);
    for (int i = 0; i < 2; ++i) {
        const answer response = co_await here.post("/tasks/" + id + "/cancel");
        EXPECT_EQ(response.code, 202U) << response.text;
        EXPECT_EQ(response["cancel"], "requested");
        co_await weir::sleep(1s);
    }
    co_await weir::sleep(10s);
    const answer over = co_await here.post("/tasks/" + id + "/cancel");
    EXPECT_EQ(over.code, 409U);
    co_await here.stop();
}
