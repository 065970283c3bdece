// SPDX-License-Identifier: MIT
// Valid requests, changed at random: members that are missing, of another type, too large,
// repeated, or not UTF-8. No response is a 500, and each matches the description; each refusal has
// a reason; each accepted request is valid by the description, and its tasks exist in the end.

#include "support.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <cstdlib>
#include <limits>
#include <random>
#include <set>

namespace {

using namespace api_test;
using namespace std::chrono_literals;
using http::method;

class changer {
public:
    explicit changer(unsigned seed) : random_(seed) {}

    std::size_t pick(std::size_t count) {
        return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_);
    }
    bool chance(double probability) { return std::bernoulli_distribution(probability)(random_); }
    template <class T, std::size_t Count>
    const T& one_of(const T (&all)[Count]) {
        return all[pick(Count)];
    }

    bj::value anything(int depth = 0) {
        static const char* const texts[] = {"",
                                            "a",
                                            "echo",
                                            "\u00e9\U0001F600",
                                            "\x01\n",
                                            "\x7f",
                                            "../..",
                                            "* * * * *",
                                            "Europe/Berlin",
                                            "2026-11-15T09:30:00Z",
                                            "9999-12-31T23:59:59-23:59",
                                            "0000-01-01T00:00:00+23:59",
                                            "7zzzzzzzzzzzz",
                                            "<script>",
                                            "'; DROP TABLE tasks;--"};
        static const double numbers[] = {0,      -1,  0.5,          1.5,         1e308, -1e308,
                                         5e-324, 1e7, 10'000'000.1, 316'224'000, 1e300, 1000.5};
        static const std::int64_t integers[] = {0,
                                                1,
                                                -1,
                                                1000,
                                                1001,
                                                -1001,
                                                2147483647,
                                                2147483648,
                                                4294967295,
                                                4294967296,
                                                std::numeric_limits<std::int64_t>::min(),
                                                std::numeric_limits<std::int64_t>::max()};
        switch (pick(depth < 3 ? 10 : 8)) {
            case 0:
                return nullptr;
            case 1:
                return chance(0.5);
            case 2:
                return bj::value(one_of(numbers));
            case 3:
                return bj::value(one_of(integers));
            case 4:
                return bj::value(std::numeric_limits<std::uint64_t>::max());
            case 5:
                return bj::string(std::string(pick(2) == 0 ? 101 : 300, 'x'));
            case 6:
                return bj::string(std::string_view("a\0b", 3));
            case 7:
                return bj::string(one_of(texts));
            case 8: {
                bj::array result;
                for (std::size_t count = chance(0.1) ? 30 : pick(4); count > 0; --count) {
                    result.push_back(anything(depth + 1));
                }
                return result;
            }
            default: {
                bj::object built;
                for (std::size_t count = pick(4); count > 0; --count) {
                    built[one_of(texts)] = anything(depth + 1);
                }
                return built;
            }
        }
    }

    bj::value changed(const bj::value& original, double how_much) {
        if (chance(how_much * 0.5)) {
            return anything();
        }
        if (const bj::object* const object = original.if_object()) {
            bj::object copy;
            for (const auto& [name, value] : *object) {
                if (!chance(how_much * 0.3)) {
                    copy[chance(how_much * 0.2) ? bj::string_view("other") : name] =
                        changed(value, how_much);
                }
            }
            if (chance(how_much * 0.3)) {
                copy["a\u00e9"] = anything();
            }
            return copy;
        }
        if (const bj::array* const array = original.if_array()) {
            bj::array copy;
            for (const bj::value& each : *array) {
                copy.push_back(changed(each, how_much));
            }
            return copy;
        }
        return original;
    }

    // Bytes, where JSON may end to be one.
    std::string spoilt(std::string text) {
        if (text.empty()) {
            return text;
        }
        switch (pick(40)) {
            case 0:
                text[pick(text.size())] = static_cast<char>(pick(256));
                break;
            case 1:
                text.resize(pick(text.size()) + 1);
                break;
            case 2:
                text += text;
                break;
            case 3:
                text.insert(1, R"("kind":"echo",)");
                break;
            case 4:
                text = "\xef\xbb\xbf" + text;
                break;
            case 5:
                text.insert(pick(text.size()), std::string(100, '['));
                break;
            case 6:
                if (const std::size_t at = text.find("payload"); at != std::string::npos) {
                    text.replace(at, 1, "\\u0070");
                }
                break;
            case 7:
                if (const std::size_t at = text.find("echo"); at != std::string::npos) {
                    text.replace(at, 4, "\\ud800");
                }
                break;
            default:
                break;
        }
        return text;
    }

    bj::value task() {
        const char* const kinds[] = {"echo", "echo", "sleep", "fail"};
        bj::object body{{"kind", one_of(kinds)}};
        const auto maybe = [&](const char* name, bj::value value) {
            if (chance(0.4)) {
                body[name] = std::move(value);
            }
        };
        maybe("payload", bj::object{{"seconds", 1}, {"b", bj::array{1, 2.5, "c"}}});
        maybe("queue", bj::string(queue()));
        maybe("priority", 5);
        maybe(chance(0.5) ? "delay" : "run_at",
              body.size() % 2 == 0 ? bj::value(0.5) : bj::value("2026-11-15T09:30:00.5+02:00"));
        maybe(chance(0.5) ? "expires_in" : "expires_at",
              body.size() % 2 == 0 ? bj::value(100) : bj::value("2026-11-16T09:30:00Z"));
        maybe("max_attempts", 2);
        maybe("backoff", chance(0.5) ? bj::value(1)
                                     : bj::value(bj::object{{"initial", 0.1}, {"jitter", 0.5}}));
        maybe("timeout", 10);
        maybe("idempotency_key", bj::string("k" + std::to_string(pick(20))));
        maybe("tags", bj::array{"a", "b"});
        maybe("flow_key", bj::string("f" + std::to_string(pick(3))));
        return body;
    }
    bj::value batch() {
        bj::array all;
        for (std::size_t count = pick(6); count > 0; --count) {
            all.push_back(task());
        }
        return chance(0.5) ? bj::value(all) : bj::value(bj::object{{"tasks", all}});
    }
    bj::value schedule() {
        bj::object body{{"cron", chance(0.5) ? "* * * * *" : "@daily"},
                        {"task", bj::object{{"kind", "echo"}, {"payload", 1}}}};
        if (chance(0.5)) {
            body["zone"] = "Europe/Berlin";
        }
        if (chance(0.5)) {
            body["missed"] = "skip";
        }
        if (chance(0.5)) {
            body["is_paused"] = chance(0.5);
        }
        return body;
    }
    bj::value limits() {
        return bj::object{{"max_pending", 1000}, {"max_running", 5}, {"rate", 10.5},
                          {"burst", 3},          {"key_rate", 2},    {"key_burst", nullptr}};
    }
    std::string queue() { return "q" + std::to_string(pick(3)); }

private:
    std::mt19937 random_;
};

struct asking {
    method verb;
    std::string path;   // of the description
    std::string place;  // for its parameter
    bj::value body;
};

asking any_request(changer& random, const std::vector<std::string>& ids) {
    const std::string name = random.queue();
    const std::string id =
        ids.empty() || random.chance(0.1) ? "0000000000001" : ids[random.pick(ids.size())];
    switch (random.pick(14)) {
        case 0:
        case 1:
        case 2:
        case 3:
            return {method::post, "/tasks", "", random.task()};
        case 4:
        case 5:
            return {method::post, "/tasks/batch", "", random.batch()};
        case 6:
        case 7:
            return {method::put, "/schedules/{name}", name, random.schedule()};
        case 8:
            return {method::patch, "/queues/{name}", name, random.limits()};
        case 9:
            return {method::post, "/queues/{name}/resume", name, {}};
        case 10:
            return {method::post, "/queues/{name}/redrive", name, {}};
        case 11:
            return {method::post, "/tasks/{id}/cancel", id, {}};
        case 12:
            return {method::post, "/tasks/{id}/retry", id, {}};
        default:
            return {method::get, "/tasks/{id}/why", id, {}};
    }
}

std::string target_of(const asking& what) {
    std::string text = what.path;
    for (const std::string_view each : {"{id}", "{name}"}) {
        if (const std::size_t at = text.find(each); at != std::string::npos) {
            text.replace(at, each.size(), what.place);
        }
    }
    return text;
}

// The first violation of the description by a body that was accepted.
std::string misfit(const site& here, const asking& what, const std::string& body) {
    std::string name(http::name_of(what.verb));
    for (char& letter : name) {
        letter = static_cast<char>(letter | 0x20);
    }
    const bj::value& form = here.description()
                                .at("paths")
                                .at(what.path)
                                .at(name)
                                .at("requestBody")
                                .at("content")
                                .at("application/json")
                                .at("schema");
    const schema_check fits(here.description());
    const bj::value parsed = http::parse_json(body, {.max_depth = 64});
    if (what.path != "/tasks/batch") {
        return fits(form, parsed);
    }
    return parsed.is_array() || parsed.is_object()
               ? ""
               : "neither";  // tasks of it are refused one by one
}

void take_ids(std::vector<std::string>& to, const asking& what, const answer& response) {
    if (what.path == "/tasks") {
        to.push_back(response["id"]);
    } else if (what.path == "/tasks/batch") {
        for (const bj::value& each : response.json.at("results").as_array()) {
            if (const bj::value* const id = each.as_object().if_contains("id")) {
                to.emplace_back(id->as_string());
            }
        }
    }
}

weir::task<> ask_at_random(unsigned seed) {
    site here;
    co_await here.learn();
    here.start();
    changer random(seed);
    std::vector<std::string> ids;
    for (int i = 0; i < 150; ++i) {
        asking what = any_request(random, ids);
        const double how_much[] = {0, 0.05, 0.3, 0.8};
        std::string body;
        if (!what.body.is_null()) {
            body = random.spoilt(http::to_json(random.changed(what.body, random.one_of(how_much))));
        }
        const answer response = co_await here.ask(what.verb, target_of(what), body);
        const std::string message = target_of(what) + " " + body + "\n" + response.text;
        EXPECT_LT(response.code, 500U) << message;
        if (response.code >= 400) {
            EXPECT_FALSE(response.detail().empty()) << message;
        } else {
            take_ids(ids, what, response);
            if (!body.empty()) {
                EXPECT_EQ(misfit(here, what, body), "") << message;
            }
        }
        if (random.chance(0.2)) {
            co_await weir::sleep(1s);
        }
    }
    const std::set<std::string> taken(ids.begin(), ids.end());
    for (const std::string& id : taken) {
        const answer kept = co_await here.get("/tasks/" + id);
        EXPECT_EQ(kept.code, 200U) << id;
    }
    // The store has no task that was not reported, except those of schedules.
    std::size_t scheduled = 0;
    std::size_t found = 0;
    std::string next = "/tasks?limit=200";
    while (!next.empty()) {
        const answer page = co_await here.get(next);
        for (const bj::value& each : page.json.at("tasks").as_array()) {
            ++found;
            scheduled += taken.contains(std::string(each.at("id").as_string())) ? 0 : 1;
        }
        next = page.json.at("next").is_null() ? "" : std::string(page.json.at("next").as_string());
    }
    EXPECT_EQ(found, taken.size() + scheduled);
    const answer queues = co_await here.get("/queues");
    std::size_t counted = 0;
    for (const bj::value& each : queues.json.at("queues").as_array()) {
        for (const auto& state : each.at("counts").as_object()) {
            counted += state.value().to_number<std::size_t>();
        }
    }
    EXPECT_EQ(counted, found);
    co_await here.stop();
}

}  // namespace

WEIR_TEST(ServiceApi, WhateverIsChangedInARequest) {
    weir::testing::once_is_enough();
    const unsigned seeds = std::getenv("WEIR_STRESS") != nullptr ? 2000 : 6;
    for (unsigned seed = 0; seed < seeds && !::testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        co_await ask_at_random(seed);
    }
}
