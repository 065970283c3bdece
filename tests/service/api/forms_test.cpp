// SPDX-License-Identifier: MIT
// Tasks, queues and filters as JSON, both ways; times, ids, payloads; and invalid input of clients.

#include "base/raw_json.hpp"
#include "base/rfc3339.hpp"
#include "service/api/json/filter_query.hpp"
#include "service/api/json/json_read.hpp"
#include "service/api/json/json_write.hpp"

#include <weir/error.hpp>
#include <weir/http/json.hpp>

#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {

namespace bj = boost::json;
namespace http = weir::http;
using namespace std::chrono_literals;
using namespace weir::service;
using namespace weir::service::detail;

const timestamp now = *weir::base::parse_rfc3339("2026-11-15T12:00:00Z");

new_task read(const std::string& text) {
    return read_new_task(http::parse_json(text, {.max_depth = max_body_depth}), text, now);
}

// 'status: text' of the problem that reading makes; a service would call check() next.
std::string refusal_of(const std::string& text) {
    try {
        check(read(text));
    } catch (const http::problem& error) {
        return std::to_string(number_of(error.code())) + ": " + error.what();
    } catch (const weir::invalid_argument& error) {
        return std::string("422: ") + error.what();
    }
    return "taken";
}

std::string written(const task_record& task, task_part part = task_part::all) {
    std::string text;
    json_writer to(text);
    to.begin_object();
    write_task(to, task, now, part);
    to.end_object();
    return text;
}

TEST(ServiceForms, TheWriterSeparatesWhatItWrites) {
    std::string text;
    json_writer to(text);
    to.begin_array().integer(-1).integer(2).natural(3).number(0.5).text("a").end_array();
    EXPECT_EQ(text, R"([-1,2,3,0.5,"a"])");
}

TEST(ServiceForms, AUniqueTaskSaysForHowLong) {
    task_record task;
    task.id = task_id(7);
    EXPECT_NE(written(task).find(R"("unique_for":null)"), std::string::npos) << written(task);
    task.unique_key = "one";
    task.unique_for = unique_while::pending;
    EXPECT_NE(written(task).find(R"("unique_for":"pending")"), std::string::npos) << written(task);
    task.unique_for = unique_while::pending_or_running;
    EXPECT_NE(written(task).find(R"("unique_for":"pending_or_running")"), std::string::npos)
        << written(task);
}

// ---- random things

class dice {
public:
    explicit dice(unsigned seed) : random_(seed) {}
    std::int64_t number(std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
    }
    bool flip() { return number(0, 1) == 1; }
    std::string name(std::size_t longest) {
        static const std::string pieces[] = {"a", "Z",      "0",      " ",          "\"", "\\",
                                             "/", "\u00e9", "\u4e16", "\U0001f600", "<",  "&",
                                             "{", "]",      ":",      ","};
        std::string text;
        const auto wanted = static_cast<std::size_t>(number(1, static_cast<std::int64_t>(longest)));
        while (text.size() + 4 < wanted || text.empty()) {
            text += pieces[number(0, 15)];
        }
        return text;
    }
    bj::value json(int depth) {
        switch (number(0, depth > 0 ? 6 : 4)) {
            case 0:
                return nullptr;
            case 1:
                return flip();
            case 2:
                return number(std::numeric_limits<std::int64_t>::min(),
                              std::numeric_limits<std::int64_t>::max());
            case 3:
                return std::ldexp(static_cast<double>(number(-1000, 1000)),
                                  static_cast<int>(number(-60, 60)));
            case 4:
                return bj::value(name(30));
            case 5: {
                bj::array result;
                for (std::int64_t i = number(0, 4); i > 0; --i) {
                    result.push_back(json(depth - 1));
                }
                return result;
            }
            default: {
                bj::object built;
                for (std::int64_t i = number(0, 4); i > 0; --i) {
                    built[name(12)] = json(depth - 1);
                }
                return built;
            }
        }
    }
    std::string blanks() {
        static const std::string all[] = {"", "", " ", "\n", "\t ", "\r\n"};
        return all[number(0, 5)];
    }
    // The same value, as people write it.
    std::string spread(const bj::value& value) {
        std::string spread_text = blanks();
        if (const bj::array* const array = value.if_array()) {
            spread_text += "[";
            for (std::size_t i = 0; i < array->size(); ++i) {
                spread_text += (i > 0 ? "," : "") + spread((*array)[i]);
            }
            spread_text += blanks() + "]";
        } else if (const bj::object* const object = value.if_object()) {
            spread_text += "{";
            bool is_first = true;
            for (const auto& each : *object) {
                spread_text += std::string(is_first ? "" : ",") + blanks() +
                               bj::serialize(bj::value(each.key())) + blanks() + ":" +
                               spread(each.value());
                is_first = false;
            }
            spread_text += blanks() + "}";
        } else {
            spread_text += bj::serialize(value);
        }
        return spread_text + blanks();
    }
    task_record task() {
        task_record record;
        record.id = task_id(number(1, std::numeric_limits<std::int64_t>::max()));
        record.kind = name(100);
        record.payload = bj::serialize(json(4));
        record.queue = name(100);
        record.priority = static_cast<std::int32_t>(number(-1000, 1000));
        if (flip()) {
            record.run_at = timestamp(std::chrono::microseconds(number(0, 253402300799999998)));
        }
        if (flip()) {
            const std::int64_t after =
                record.run_at.value_or(timestamp()).time_since_epoch().count();
            record.expires_at =
                timestamp(std::chrono::microseconds(number(after + 1, 253402300799999999)));
        }
        record.retry.max_attempts = static_cast<std::uint32_t>(number(1, 1000));
        record.retry.backoff = std::chrono::milliseconds(number(0, 10'000'000'000));
        record.retry.max_backoff = std::chrono::milliseconds(number(0, 10'000'000'000));
        record.retry.factor = 1 + static_cast<double>(number(0, 990)) / 10;
        record.retry.jitter = static_cast<double>(number(0, 100)) / 100;
        record.timeout = std::chrono::milliseconds(number(0, 10'000'000'000));
        record.idempotency_key = flip() ? name(200) : "";
        record.flow_key = flip() ? name(200) : "";
        for (std::int64_t i = number(0, 5); i > 0; --i) {
            record.tags.push_back(std::to_string(i) + name(50));
        }
        record.state = static_cast<task_state>(number(0, 4));
        record.run = static_cast<std::uint32_t>(number(0, 4'000'000'000));
        record.failures = static_cast<std::uint32_t>(number(0, 10));
        record.progress = static_cast<double>(number(0, 100)) / 100;
        record.message = flip() ? name(50) : "";
        record.error = flip() ? std::string("\xff\x01 bytes ") + name(50) : "";
        record.result = flip() ? bj::serialize(json(3)) : "";
        record.created_at = timestamp(std::chrono::microseconds(number(0, 253402300799999999)));
        record.due_at = record.created_at;
        return record;
    }

private:
    std::mt19937 random_;
};

}  // namespace

// The settings of a task survive the conversion into JSON and back.
TEST(ServiceForms, ATaskIsReadAsItWasWritten) {
    for (unsigned seed = 0; seed < 300; ++seed) {
        dice random(seed);
        const task_record task = random.task();
        const bj::value whole = http::parse_json(written(task), {.max_depth = 64});
        const bj::object& object = whole.as_object();
        EXPECT_EQ(task_id::parse(object.at("id").as_string()), task.id);
        EXPECT_EQ(object.at("state").as_string(), to_string(task.state));
        EXPECT_EQ(object.at("payload"), http::parse_json(task.payload));
        EXPECT_EQ(object.at("progress").to_number<double>(), task.progress);
        EXPECT_EQ(object.at("created_at").as_string(), weir::base::to_rfc3339(task.created_at));
        EXPECT_EQ(object.at("error").is_null(), task.error.empty());
        const bj::value summary = http::parse_json(written(task, task_part::summary));
        EXPECT_FALSE(summary.as_object().contains("payload"));
        EXPECT_FALSE(summary.as_object().contains("result"));

        bj::object request;
        for (const char* each :
             {"kind", "payload", "queue", "priority", "run_at", "expires_at", "max_attempts",
              "backoff", "timeout", "idempotency_key", "tags", "flow_key"}) {
            request[each] = object.at(each);
        }
        const std::string text = random.spread(request);
        const new_task again = read(text);
        EXPECT_EQ(again.kind, task.kind);
        EXPECT_EQ(http::parse_json(again.payload), http::parse_json(task.payload)) << text;
        EXPECT_EQ(again.queue, task.queue);
        EXPECT_EQ(again.priority, task.priority);
        EXPECT_EQ(again.run_at, task.run_at);
        EXPECT_EQ(again.expires_at, task.expires_at);
        EXPECT_EQ(again.retry, task.retry);
        EXPECT_EQ(again.timeout, task.timeout);
        EXPECT_EQ(again.idempotency_key, task.idempotency_key);
        EXPECT_EQ(again.flow_key, task.flow_key);
        EXPECT_EQ(again.tags, task.tags);
        check(again);
    }
}

TEST(ServiceForms, PayloadsStayAsTheyWereWritten) {
    EXPECT_EQ(read(R"({"kind": "a", "payload": { "x" : [1e2, 12345678901234567890123, 0.10 ] ,
        "a \" b" : "c  d\\" } })")
                  .payload,
              R"({ "x" : [1e2, 12345678901234567890123, 0.10 ] ,
        "a \" b" : "c  d\\" })");
    EXPECT_EQ(read(R"({"kind":"a"})").payload, "null");
    EXPECT_EQ(read(R"({"kind":"a","payload":null})").payload, "null");
    EXPECT_EQ(read(R"({"kind":"a","payload":-0.0})").payload, "-0.0");
    // A member name written with escapes, and one that is only similar.
    EXPECT_EQ(read(R"({"kind":"a","payl\u006fad":[1, 2]})").payload, "[1, 2]");
    EXPECT_EQ(read(R"({"tags":["payload"],"payload":"}","kind":"a"})").payload, R"("}")");
    for (unsigned seed = 0; seed < 300; ++seed) {
        dice random(seed);
        const std::string written = random.spread(random.json(5));
        EXPECT_EQ(read(R"({"kind":"a","payload":)" + written + "}").payload,
                  weir::base::trim_json(written));
        bj::array several;
        for (int i = 0; i < 5; ++i) {
            several.push_back(random.json(2));
        }
        const std::string text = random.spread(several);
        const std::vector<std::string_view> parts = weir::base::raw_elements(text);
        ASSERT_EQ(parts.size(), several.size()) << text;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            EXPECT_EQ(http::parse_json(parts[i]), several[i]);
        }
    }
}

TEST(ServiceForms, WhatDoesNotFitIsNamed) {
    const std::pair<std::string, std::string> cases[] = {
        {R"([])", "422: a JSON object is expected"},
        {R"({})", "422: the member 'kind' is missing"},
        {R"({"kind": 7})", "422: the member 'kind' must be a string"},
        {R"({"kind": ""})", "422: task: kind is ''"},
        {R"({"kind": "a", "kinds": 1})", "422: the member 'kinds' is unknown; known are: kind, "},
        {R"({"kind": "a", "priority": 1.5})",
         "422: the member 'priority' must be a whole number from -1000 to 1000"},
        {R"({"kind": "a", "priority": 99999999999})", "422: the member 'priority' must be a whole"},
        {R"({"kind": "a", "priority": 2000})", "422: the member 'priority' must be a whole"},
        {R"({"kind": "a", "queue": "a\nb"})", "422: task: queue is"},
        {R"({"kind": "a", "queue": "\u0000"})", "422: task: queue is"},
        {R"({"kind": "a", "queue": ".."})", "422: task: queue is '..'; no URL"},
        {R"({"kind": "a", "queue": "."})", "422: task: queue is '.'; no URL"},
        {R"({"kind": "a", "queue": "..."})", "taken"},
        {R"({"kind": "a", "delay": -1})", "422: the member 'delay' must be a number of seconds"},
        {R"({"kind": "a", "delay": "1"})", "422: the member 'delay' must be a number of seconds"},
        {R"({"kind": "a", "delay": 1e300})", "422: the member 'delay' must be a number of seco"},
        {R"({"kind": "a", "delay": 1, "run_at": "2027-01-01T00:00:00Z"})", "422: the member 'del"},
        {R"({"kind": "a", "run_at": "tomorrow"})", "422: the member 'run_at' must be a time"},
        {R"({"kind": "a", "run_at": 17})", "422: the member 'run_at' must be a string"},
        {R"({"kind": "a", "max_attempts": 0})",
         "422: the member 'max_attempts' must be a whole number from 1 to 1000"},
        {R"({"kind": "a", "max_attempts": -1})", "422: the member 'max_attempts' must be a who"},
        {R"({"kind": "a", "timeout": 1e9})", "422: the member 'timeout' must be a number of sec"},
        {R"({"kind": "a", "timeout": 0.0001})", "422: the member 'timeout' must be at least"},
        {R"({"kind": "a", "backoff": "1s"})", "422: the member 'backoff' must be a number of"},
        {R"({"kind": "a", "backoff": {"first": 1}})", "422: in 'backoff': the member 'first'"},
        {R"({"kind": "a", "backoff": {"initial": -2}})", "422: in 'backoff': the member 'initial'"},
        {R"({"kind": "a", "backoff": {"jitter": 2}})", "422: task: jitter is 2"},
        {R"({"kind": "a", "tags": "b"})", "422: the member 'tags' must be an array of texts"},
        {R"({"kind": "a", "tags": [1]})", "422: the member 'tags' must be an array of texts"},
        {R"({"kind": "a", "tags": [""]})", "422: task: tag is ''"},
        {R"({"kind": "a", "kind": "b"})", "400: invalid JSON"},
        {R"({"kind": "a",})", "400: invalid JSON"},
        {"{\"kind\": \"\xff\"}", "400: invalid JSON"},
        {R"({"kind": "a", "priority": null, "tags": null, "backoff": null})", "taken"},
        {R"({"kind": "a", "timeout": 0, "delay": 0, "backoff": 0.5})", "taken"},
    };
    for (const auto& [text, expected] : cases) {
        const std::string message = refusal_of(text);
        EXPECT_EQ(message.substr(0, expected.size()), expected) << text;
    }
    const std::string deep(33, '[');
    const std::string output =
        refusal_of(R"({"kind": "a", "payload": )" + deep + std::string(33, ']') + "}");
    EXPECT_NE(output.find("payload"), std::string::npos) << output;
    EXPECT_EQ(read(R"({"kind":"a","delay":0.25})").run_at, now + 250ms);
}

// Valid bodies with an error in them are either refused or accepted.
TEST(ServiceForms, BrokenBodiesAreRefused) {
    int taken = 0;
    for (unsigned seed = 0; seed < 3000; ++seed) {
        dice random(seed);
        bj::object request{{"kind", "a"}};
        const char* members[] = {"kind",    "payload",         "queue",   "priority",
                                 "delay",   "run_at",          "tags",    "max_attempts",
                                 "backoff", "idempotency_key", "timeout", "flow_key"};
        for (std::int64_t i = random.number(1, 4); i > 0; --i) {
            request[members[random.number(0, 11)]] = random.json(2);
        }
        std::string text = random.spread(request);
        if (random.number(0, 2) == 0) {
            const auto at = static_cast<std::size_t>(
                random.number(0, static_cast<std::int64_t>(text.size()) - 1));
            text[at] = static_cast<char>(random.number(0, 255));
        }
        const std::string message = refusal_of(text);
        taken += message == "taken" ? 1 : 0;
        EXPECT_TRUE(message == "taken" || message.starts_with("422: ") ||
                    message.starts_with("400: "))
            << text << "\n"
            << message;
    }
    EXPECT_GT(taken, 100);
    EXPECT_LT(taken, 2500);
}

TEST(ServiceForms, LimitsAreChangedOneByOne) {
    queue_limits before;
    before.max_running = 3;
    before.rate = 2;
    const queue_limits after = read_limits(
        http::parse_json(R"({"rate": 0.5, "max_running": null, "key_burst": 4})"), before);
    EXPECT_EQ(after.rate, 0.5);
    EXPECT_EQ(after.max_running, 0U);
    EXPECT_EQ(after.key_burst, 4U);
    for (const std::string bad : {R"({"rates": 1})", R"({"rate": "1"})", R"({"max_running": -1})",
                                  R"({"max_pending": 1.5})", R"({"burst": 1e100})"}) {
        EXPECT_THROW(read_limits(http::parse_json(bad), before), invalid_value) << bad;
    }
    EXPECT_THROW(read_limits(http::parse_json("7"), before), http::problem);
    EXPECT_THROW(check(read_limits(http::parse_json(R"({"rate": 1e9})"), before)),
                 weir::invalid_argument);
}

TEST(ServiceForms, SchedulesAreReadAndWritten) {
    const std::string text =
        R"({"cron": "0 3 * * *", "zone": "Europe/Berlin", "missed": "skip", "is_paused": true,
            "task": {"kind": "report", "payload": {"n": 1.50}, "queue": "night"}})";
    schedule_record record;
    static_cast<schedule&>(record) = read_schedule("nightly", http::parse_json(text), text, now);
    EXPECT_EQ(record.task.payload, R"({"n": 1.50})");
    record.next_slot = now;
    std::string out;
    json_writer to(out);
    write_schedule(to, record);
    bj::object again = http::parse_json(out).as_object();
    EXPECT_EQ(again.at("missed"), "skip");
    EXPECT_EQ(again.at("next_slot"), "2026-11-15T12:00:00.000000Z");
    EXPECT_TRUE(again.at("last_task").is_null());
    for (const char* each :
         {"next_slot", "next_slots", "last_slot", "last_task", "last_task_state"}) {
        again.erase(each);
    }
    const std::string second = bj::serialize(again);
    const schedule same = read_schedule("nightly", again, second, now);
    EXPECT_EQ(same.task.queue, "night");
    EXPECT_EQ(same.is_paused, true);
    for (const std::string bad :
         {R"({"task": {"kind": "a"}})", R"({"cron": "* * * * *"})",
          R"({"cron": "* * * * *", "task": 1})", R"({"cron": "* * * * *", "task": {}})",
          R"({"cron": "* * * * *", "task": {"kind": "a", "delay": 5}})",
          R"({"cron": "* * * * *", "task": {"kind": "a", "idempotency_key": "b"}})",
          R"({"cron": "* * * * *", "task": {"kind": "a"}, "missed": "all"})",
          R"({"cron": "* * * * *", "task": {"kind": "a"}, "name": "other"})",
          R"({"cron": 5, "task": {"kind": "a"}})", R"({"crons": "", "task": {"kind": "a"}})"}) {
        EXPECT_THROW(read_schedule("nightly", http::parse_json(bad), bad, now), invalid_value)
            << bad;
    }
}

TEST(ServiceForms, FiltersAreLinksAndBack) {
    const task_filter all = read_filter("", 100);
    EXPECT_EQ(all.limit, 50U);
    EXPECT_FALSE(all.before);
    for (unsigned seed = 0; seed < 300; ++seed) {
        dice random(seed);
        task_filter filter;
        filter.queue = random.flip() ? random.name(100) : "";
        filter.kind = random.flip() ? random.name(100) : "";
        filter.tag = random.flip() ? random.name(100) : "";
        filter.flow_key = random.flip() ? random.name(200) : "";
        filter.limit = static_cast<std::size_t>(random.number(1, 100));
        if (random.flip()) {
            filter.state = static_cast<task_state>(random.number(0, 4));
            filter.view = static_cast<task_view>(random.number(0, 7));
            filter.created_from = now;
            filter.created_to = now + 1us;
            filter.before = task_id(random.number(1, std::numeric_limits<std::int64_t>::max()));
        }
        std::string query;
        write_filter(query, filter);
        const task_filter again = read_filter(query, 100);
        EXPECT_EQ(again.queue, filter.queue);
        EXPECT_EQ(again.kind, filter.kind);
        EXPECT_EQ(again.tag, filter.tag);
        EXPECT_EQ(again.flow_key, filter.flow_key);
        EXPECT_EQ(again.limit, filter.limit);
        EXPECT_EQ(again.state, filter.state);
        EXPECT_EQ(again.view, filter.view);
        EXPECT_EQ(again.created_from, filter.created_from);
        EXPECT_EQ(again.created_to, filter.created_to);
        EXPECT_EQ(again.before, filter.before);
    }
    for (const std::string bad : {"state=done",
                                  "state=",
                                  "status=retry",
                                  "limit=0",
                                  "limit=101",
                                  "limit=-1",
                                  "limit=1e3",
                                  "limit=99999999999999999999999",
                                  "limit=",
                                  "cursor=",
                                  "cursor=zzzzzzzzzzzzz",
                                  "cursor=0000000000000",
                                  "cursor=x%00",
                                  "from=yesterday",
                                  "to=2026",
                                  "queue=",
                                  "queue=%ff",
                                  "queue=%00",
                                  "kind=%0a",
                                  "tag=%e4",
                                  "flow_key=%c3%28",
                                  "page=2",
                                  "state=failed&state=failed",
                                  "a%zz=1",
                                  "queue=%",
                                  "state=failed&&limit=x"}) {
        EXPECT_THROW(read_filter(bad, 100), http::problem) << bad;
    }
    EXPECT_THROW(read_filter("queue=" + std::string(101, 'a'), 100), http::problem);
    std::string many;
    for (int i = 0; i < 1000; ++i) {
        many += "a" + std::to_string(i) + "=1&";
    }
    EXPECT_THROW(read_filter(many, 100), http::problem);
}

TEST(ServiceForms, IdsOfAnyKindAreFoundOrNot) {
    for (unsigned seed = 0; seed < 2000; ++seed) {
        dice random(seed);
        const task_id id(random.number(1, std::numeric_limits<std::int64_t>::max()));
        EXPECT_EQ(read_task_id(id.text()), id);
        std::string text = id.text();
        text[static_cast<std::size_t>(random.number(0, 12))] =
            static_cast<char>(random.number(0, 255));
        try {
            EXPECT_TRUE(read_task_id(text));
        } catch (const http::problem& error) {
            EXPECT_EQ(error.code(), http::status::not_found);
        }
    }
    for (const std::string bad : {"", "1", "0000000000000", "8000000000000", "00000000000000"}) {
        EXPECT_THROW(read_task_id(bad), http::problem) << bad;
    }
}
