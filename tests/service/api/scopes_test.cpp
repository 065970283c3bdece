// SPDX-License-Identifier: MIT
// Every route with every kind of token: a route that is not in the table fails the test, and so
// does one that shows a client anything of a queue that is not its own.

#include "served.hpp"

#include <array>
#include <map>

namespace {

using namespace api_test;
using namespace std::chrono_literals;
using weir::testing::simulated_network;

// 'own' is the queue of the requests; the tokens for 'other' must not see anything of it.
constexpr std::array<std::string_view, 14> lines = {
    "full-0123456789abcdef",
    "admin-0123456789abcdef admin",
    "read-0123456789abcdef read",
    "submit-0123456789abcdef submit",
    "metrics-0123456789abcdef metrics",
    "admin.own-0123456789abcdef name=boss admin@own",
    "read.own-0123456789abcdef name=reader read@ow*",
    "submit.own-0123456789abcdef name=sender submit@own",
    "admin.other-0123456789abcdef admin@other",
    "read.other-0123456789abcdef read@other,read@more*",
    "submit.other-0123456789abcdef submit@other",
    "mixed-0123456789abcdef read@own,submit@other",
    "worker.own-0123456789abcdef worker:k@own",
    "worker.other-0123456789abcdef worker:other,k@other"};

std::string secret_of(std::string_view line) {
    return std::string(line.substr(0, line.find(' ')));
}
std::string kind_of(std::string_view line) {
    return std::string(line.substr(0, line.find('-')));
}
fields bearer(std::string_view line) {
    return {{"Authorization", "Bearer " + secret_of(line)}};
}

// Headers of a WebSocket handshake, which refer to the text.
struct handshake {
    explicit handshake(std::string_view line) : value("Bearer " + secret_of(line)) {}
    handshake(const handshake&) = delete;

    std::string value;
    std::array<http::header_field, 1> headers{http::header_field{"Authorization", value}};
};

// The tokens that may, for what is in 'own' or has no queue.
const std::map<std::string, std::string> allowed_by = {
    {"any",
     "full admin read submit metrics admin.own read.own submit.own admin.other read.other "
     "submit.other mixed worker.own worker.other"},
    {"status", "full admin read submit admin.own read.own submit.own mixed"},
    {"read", "full admin read admin.own read.own mixed"},
    {"submit", "full admin submit admin.own submit.own"},
    {"admin", "full admin admin.own"},
    {"worker", "full admin admin.own worker.own"},
    // An operation is in the queue of its filter.
    {"admin list", "full admin admin.own admin.other"},
    {"admin everywhere", "full admin"},
    {"read everywhere", "full admin read"},
    {"metrics", "full admin read metrics"},
    // A list is empty for a token that may see other queues only.
    {"read list", "full admin read admin.own read.own admin.other read.other mixed"},
    // Each task has its own answer.
    {"batch", "full admin submit admin.own submit.own admin.other submit.other mixed"},
    // Topics are checked one by one.
    {"feed",
     "full admin read submit admin.own read.own submit.own admin.other read.other "
     "submit.other mixed"}};

const std::map<std::string, std::string> scopes = {
    {"post /tasks", "submit"},
    {"get /tasks", "read list"},
    {"post /tasks/batch", "batch"},
    {"get /tasks/{id}", "status"},
    {"patch /tasks/{id}", "admin"},
    {"delete /tasks/{id}", "admin"},
    {"get /tasks/{id}/why", "status"},
    {"post /tasks/{id}/cancel", "admin"},
    {"post /tasks/{id}/retry", "admin"},
    {"post /groups", "submit"},
    {"get /groups", "read list"},
    {"get /groups/{id}", "status"},
    {"post /groups/{id}/tasks", "submit"},
    {"get /groups/{id}/tasks", "read"},
    {"post /groups/{id}/seal", "submit"},
    {"post /groups/{id}/cancel", "admin"},
    {"get /queues", "read list"},
    {"get /queues/{name}", "read"},
    {"patch /queues/{name}", "admin"},
    {"delete /queues/{name}", "admin"},
    {"post /queues/{name}/pause", "admin"},
    {"post /queues/{name}/resume", "admin"},
    {"post /queues/{name}/redrive", "admin"},
    {"get /queues/{name}/keys", "read"},
    {"get /queues/{name}/keys/{key}", "read"},
    {"put /queues/{name}/keys/{key}", "admin"},
    {"delete /queues/{name}/keys/{key}", "admin"},
    {"post /operations", "admin"},
    {"get /operations", "admin list"},
    {"get /operations/{id}", "admin"},
    {"delete /operations/{id}", "admin"},
    {"get /schedules", "read list"},
    {"get /schedules/{name}", "read"},
    {"put /schedules/{name}", "admin"},
    {"delete /schedules/{name}", "admin"},
    {"post /schedules/{name}/run", "admin"},
    {"post /schedules/{name}/pause", "admin"},
    {"post /schedules/{name}/resume", "admin"},
    {"post /workers", "worker"},
    {"get /workers", "read everywhere"},
    {"delete /workers/{worker}", "worker"},
    {"post /workers/{worker}/poll", "worker"},
    {"post /workers/{worker}/heartbeat", "worker"},
    {"post /workers/{worker}/results", "worker"},
    {"post /workers/{worker}/steps", "worker"},
    {"post /workers/{worker}/drain", "worker"},
    {"post /claim", "worker"},
    {"post /handles/{handle}", "worker"},
    {"delete /kinds/{kind}", "admin everywhere"},
    {"get /kinds", "any"},
    {"get /stats", "read list"},
    {"get /stats/history", "read everywhere"},
    {"get /nodes", "read everywhere"},
    {"get /destinations", "read everywhere"},
    {"post /destinations/enable", "admin everywhere"},
    {"get /move", "admin everywhere"},
    {"post /move", "admin everywhere"},
    {"post /move/check", "admin everywhere"},
    {"delete /move", "admin everywhere"},
    {"get /events", "feed"},
    {"get /metrics", "metrics"},
    {"get /healthz", "any"},
    {"get /readyz", "any"},
    {"get /openapi.json", "any"}};

constexpr const char* operation_body =
    R"({"action": "cancel", "filter": {"queue": "own"}, "dry_run": true})";
constexpr const char* task_body = R"({"kind": "echo", "queue": "own", "payload": "hush"})";

std::string group_body() {
    return R"({"queue": "own", "sealed": false, "tasks": [)" + std::string(task_body) + "]}";
}

std::string body_for(const std::string& operation) {
    if (operation == "post /groups") {
        return group_body();
    }
    if (operation == "post /groups/{id}/tasks") {
        return R"({"tasks": [)" + std::string(task_body) + "]}";
    }
    if (operation == "post /tasks") {
        return task_body;
    }
    if (operation == "post /tasks/batch") {
        return "[" + std::string(task_body) + "]";
    }
    if (operation == "put /schedules/{name}") {
        return R"({"cron": "0 3 * * *", "task": )" + std::string(task_body) + "}";
    }
    if (operation == "post /operations") {
        return operation_body;
    }
    if (operation.starts_with("post /move")) {
        return R"({"to": "other.db"})";
    }
    if (operation == "post /destinations/enable") {
        return R"({"kind": "http", "name": "https://example.com/hook"})";
    }
    if (operation == "put /queues/{name}/keys/{key}") {
        return R"({"paused": true})";
    }
    static const std::map<std::string, std::string> of_workers = {
        {"post /workers", R"({"kinds": ["k"], "queues": ["own"]})"},
        {"post /workers/{worker}/poll", R"({"poll": 9, "wait": 0})"},
        {"post /workers/{worker}/heartbeat", R"({"running": []})"},
        {"post /workers/{worker}/results",
         R"([{"id": "0000000000001", "run": 1, "outcome": "completed"}])"},
        {"post /workers/{worker}/steps",
         R"({"id": "0000000000001", "run": 1, "name": "a", "result": 1})"},
        {"post /claim", R"({"kind": "k", "queue": "own", "wait": 0})"},
        {"post /handles/{handle}", R"({"outcome": "completed"})"}};
    if (const auto found = of_workers.find(operation); found != of_workers.end()) {
        return found->second;
    }
    return operation.starts_with("patch") ? "{\"rate\": 1}" : "";
}

std::string filled(std::string path, const std::string& id, const std::string& name,
                   const std::string& worker) {
    const auto replace = [&path](std::string_view what, const std::string& with) {
        if (const std::size_t at = path.find(what); at != std::string::npos) {
            path.replace(at, what.size(), with);
        }
    };
    replace("{id}", id);
    replace("{name}", name);
    replace("{key}", "customer");
    replace("{kind}", "k");
    replace("{worker}", worker);
    replace("{handle}", worker + "-" + id + "-1");
    return path;
}

http::method method_named(std::string_view name) {
    return name == "get"     ? http::method::get
           : name == "post"  ? http::method::post
           : name == "put"   ? http::method::put
           : name == "patch" ? http::method::patch
                             : http::method::delete_;
}

struct worker_and_task {
    worker_and_task() = default;

    std::string worker;
    std::string task;  // of its kind
};
weir::task<worker_and_task> make_worker(site& here, fields token) {
    const answer registered = co_await here.post("/workers", body_for("post /workers"), token);
    EXPECT_EQ(registered.code, 201U) << registered.text;
    const answer remote =
        co_await here.post("/tasks", R"({"kind": "k", "queue": "own"})", std::move(token));
    EXPECT_EQ(remote.code, 202U) << remote.text;
    worker_and_task made;
    made.worker = registered["worker"];
    made.task = remote["id"];
    co_return made;
}

bool has_word(const std::string& words, const std::string& word) {
    return (" " + words + " ").find(" " + word + " ") != std::string::npos;
}

}  // namespace

WEIR_TEST(ServiceScopes, EveryRouteHasAScopeThatEveryTokenIsHeldTo) {
    site here({}, {.access = {.tokens = lines}});
    const fields full = bearer(lines[0]);
    const answer described = co_await here.get("/openapi.json", full);
    std::size_t operations = 0;
    for (const auto& path : described.json.at("paths").as_object()) {
        for (const auto& each : path.value().as_object()) {
            if (each.key() == "parameters") {
                continue;
            }
            ++operations;
            const std::string verb(each.key());
            const std::string operation = verb + " " + std::string(path.key());
            const auto scope = scopes.find(operation);
            EXPECT_TRUE(scope != scopes.end()) << operation << " has no scope in this table";
            if (scope == scopes.end()) {
                continue;
            }
            for (const std::string_view line : lines) {
                const answer made = co_await here.post("/tasks", task_body, full);
                WEIR_ASSERT_EQ(made.code, 202U);
                const answer planned =
                    co_await here.ask(http::method::put, "/schedules/own-schedule",
                                      body_for("put /schedules/{name}"), full);
                WEIR_ASSERT_EQ(planned.code, 200U);
                const answer kept =
                    co_await here.ask(http::method::put, "/queues/own/keys/customer",
                                      R"({"paused": false, "rate": 5})", full);
                WEIR_ASSERT_EQ(kept.code, 200U);
                const answer begun = co_await here.post("/operations", operation_body, full);
                WEIR_ASSERT_EQ(begun.code, 202U);
                const answer grouped = co_await here.post("/groups", group_body(), full);
                WEIR_ASSERT_EQ(grouped.code, 201U);
                const std::string group(grouped.json.at("group").at("id").as_string());
                const bool is_group = path.key().starts_with("/groups");
                const bool is_operation = path.key().starts_with("/operations");
                const bool is_handle = path.key().starts_with("/handles");
                worker_and_task remote;
                if (is_handle || path.key().starts_with("/workers") ||
                    path.key().starts_with("/kinds/")) {
                    remote = co_await make_worker(here, full);
                }
                const bool is_schedule = path.key().starts_with("/schedules");
                const std::string target =
                    filled(std::string(path.key()),
                           is_group       ? group
                           : is_operation ? begun["id"]
                           : is_handle    ? remote.task
                                          : made["id"],
                           is_schedule ? "own-schedule" : "own", remote.worker);
                const answer got = co_await here.ask(method_named(verb), target,
                                                     body_for(operation), bearer(line));
                const answer all = co_await here.get("/operations", full);
                for (const bj::value& one : all.json.at("operations").as_array()) {
                    const std::string id(one.at("id").as_string());
                    co_await here.ask(http::method::delete_, "/operations/" + id, "", full);
                }
                const std::string token = kind_of(line);
                const bool is_allowed = has_word(allowed_by.at(scope->second), token);
                const std::string shown = operation + " with " + std::string(line);
                EXPECT_NE(got.code, 401U) << shown;
                if (is_allowed) {
                    EXPECT_NE(got.code, 403U) << shown << ": " << got.text;
                    const bool is_enable = operation == "post /destinations/enable";
                    EXPECT_EQ(got.code == 404, is_enable) << shown << ": " << got.text;
                } else if (got.code == 404) {
                    EXPECT_TRUE(has_word("admin.other read.other submit.other worker.other", token))
                        << shown;
                } else {
                    EXPECT_EQ(got.code, 403U) << shown << ": " << got.text;
                    EXPECT_NE(got.detail().find("does not have the scope"), std::string::npos);
                    EXPECT_NE(got["scope"], "") << shown;
                    EXPECT_EQ(got.headers.get("WWW-Authenticate"),
                              "Bearer realm=\"weir\", error=\"insufficient_scope\"");
                }
                EXPECT_EQ(got.text.find("0123456789abcdef"), std::string::npos) << shown;
                if (token.ends_with(".other") && verb == "get" &&
                    operation != "get /openapi.json") {
                    for (const std::string_view secret : {"\"own", "hush", "'own"}) {
                        const bool is_own_name = got.code == 403 || got.code == 404;
                        EXPECT_TRUE(is_own_name || got.text.find(secret) == std::string::npos)
                            << shown << ": " << got.text;
                    }
                }
            }
        }
    }
    EXPECT_EQ(operations, scopes.size());
}

// Alone each of these answers would tell that the task exists.
WEIR_TEST(ServiceScopes, ATaskOfAnotherQueueIsAsUnknownAsOneThatDoesNotExist) {
    site here({}, {.access = {.tokens = lines}});
    const answer made = co_await here.post("/tasks", task_body, bearer(lines[0]));
    const std::string id = made["id"];
    const std::string none = "0000000000001";
    for (const std::string_view line : {lines[8], lines[9], lines[10]}) {
        for (const std::string path : {"", "/why", "?wait=1"}) {
            const answer hidden = co_await here.get("/tasks/" + id + path, bearer(line));
            const answer missing = co_await here.get("/tasks/" + none + path, bearer(line));
            EXPECT_EQ(hidden.code, 404U) << line;
            EXPECT_EQ(hidden.detail(), "there is no task " + id);
            EXPECT_EQ(missing.detail(), "there is no task " + none);
        }
    }
    for (const std::string what : {"/cancel", "/retry"}) {
        const answer hidden = co_await here.post("/tasks/" + id + what, "", bearer(lines[8]));
        EXPECT_EQ(hidden.code, 404U);
        const answer seen = co_await here.post("/tasks/" + id + what, "", bearer(lines[6]));
        EXPECT_EQ(seen.code, 403U);
        EXPECT_EQ(seen.detail(), "the token 'reader' does not have the scope 'admin'");
    }
    const answer hidden = co_await here.get("/tasks?queue=own", bearer(lines[8]));
    EXPECT_EQ(hidden.detail(), "the token 'token-9' does not have the scope 'read@own'");
    EXPECT_EQ(hidden["scope"], "read@own");
}

WEIR_TEST(ServiceScopes, AKeyOfAnotherQueueDoesNotTellTheIdOfItsTask) {
    site here({}, {.access = {.tokens = lines}});
    const answer made = co_await here.post(
        "/tasks", R"({"kind": "echo", "queue": "own", "idempotency_key": "k"})", bearer(lines[0]));
    const std::string mine = R"({"kind": "echo", "queue": "other", "idempotency_key": "k"})";
    const answer conflict = co_await here.post("/tasks", mine, bearer(lines[10]));
    EXPECT_EQ(conflict.code, 409U);
    EXPECT_EQ(conflict.text.find(made["id"]), std::string::npos) << conflict.text;
    const answer batch = co_await here.post(
        "/tasks/batch", "[" + mine + R"(, {"kind": "echo", "queue": "own"}])", bearer(lines[10]));
    EXPECT_EQ(batch.code, 200U);
    EXPECT_EQ(batch.text.find(made["id"]), std::string::npos) << batch.text;
    EXPECT_EQ(batch.json.at("results").at(0).at("error").at("status"), 409);
    EXPECT_EQ(batch.json.at("results").at(1).at("error").at("status"), 403);
    EXPECT_EQ(batch.json.at("refused"), 2);
}

WEIR_TEST(ServiceScopes, AUniqueKeyOfAnotherQueueDoesNotTellTheIdOfItsTask) {
    site here({}, {.access = {.tokens = lines}});
    const std::string held = R"({"kind": "echo", "queue": "own", "unique_key": "u"})";
    const std::string mine = R"({"kind": "echo", "queue": "other", "unique_key": "u"})";
    const answer made = co_await here.post("/tasks", held, bearer(lines[0]));
    for (const std::string_view line : {lines[7], lines[0], lines[3]}) {
        const answer own = co_await here.post("/tasks", held, bearer(line));
        EXPECT_EQ(own.code, 200U) << line;
        EXPECT_EQ(own["id"], made["id"]);
    }
    const answer other = co_await here.post("/tasks", mine, bearer(lines[10]));
    EXPECT_EQ(other.code, 409U);
    EXPECT_EQ(other.text.find(made["id"]), std::string::npos) << other.text;
    const answer batch = co_await here.post("/tasks/batch", "[" + mine + "]", bearer(lines[10]));
    EXPECT_EQ(batch.json.at("results").at(0).at("error").at("status"), 409);
    EXPECT_EQ(batch.json.at("refused"), 1);
    EXPECT_EQ(batch.text.find(made["id"]), std::string::npos) << batch.text;
}

WEIR_TEST(ServiceScopes, ListsHaveTheTasksOfTheTokensQueuesPageByPage) {
    site here({}, {.access = {.tokens = lines}});
    const fields reader = bearer(lines[9]);  // other, more*
    std::vector<std::string> expected;
    for (int i = 0; i < 60; ++i) {
        const char* const names[] = {"own", "other", "more/a", "own", "own", "nomore"};
        const std::string queue = names[i % 6];
        const answer made = co_await here.post(
            "/tasks", R"({"kind": "echo", "queue": ")" + queue + "\"}", bearer(lines[0]));
        if (queue == "other" || queue == "more/a") {
            expected.insert(expected.begin(), made["id"]);
        }
    }
    std::vector<std::string> found;
    std::string next = "/tasks?limit=7";
    for (int pages = 0; !next.empty() && pages < 10; ++pages) {
        const answer page = co_await here.get(next, reader);
        WEIR_ASSERT_EQ(page.code, 200U);
        for (const bj::value& each : page.json.at("tasks").as_array()) {
            found.emplace_back(each.at("id").as_string());
        }
        next = page.json.at("next").is_null() ? "" : page["next"];
    }
    EXPECT_EQ(found, expected);
    const answer stats = co_await here.get("/stats", reader);
    EXPECT_EQ(stats.json.as_object().size(), 2U) << stats.text;
    EXPECT_EQ(stats.json.at("queues").as_array().size(), 2U) << stats.text;
}

// A schedule submits in its owner's name: it must not be a way into another queue.
WEIR_TEST(ServiceScopes, SchedulesStayInTheQueuesOfTheToken) {
    site here({}, {.access = {.tokens = lines}});
    const auto put = [&](std::string queue, std::string_view line) {
        return here.ask(
            http::method::put, "/schedules/nightly",
            R"({"cron": "0 3 * * *", "task": {"kind": "echo", "queue": ")" + queue + "\"}}",
            bearer(line));
    };
    const answer foreign = co_await put("own", lines[8]);
    EXPECT_EQ(foreign.code, 403U);
    EXPECT_EQ(foreign["scope"], "admin@own");
    const answer made = co_await put("own", lines[5]);
    EXPECT_EQ(made.code, 200U);
    const answer taken = co_await put("other", lines[8]);
    EXPECT_EQ(taken.code, 403U) << "it would replace the schedule of another queue";
    const answer removed =
        co_await here.ask(http::method::delete_, "/schedules/nightly", "", bearer(lines[8]));
    EXPECT_EQ(removed.code, 404U);
    const answer read =
        co_await here.ask(http::method::delete_, "/schedules/nightly", "", bearer(lines[6]));
    EXPECT_EQ(read.code, 403U);
}

// A callback submits a task in its owner's name, too.
WEIR_TEST(ServiceScopes, CallbacksStayInTheQueuesOfTheToken) {
    site here({}, {.access = {.tokens = lines}});
    const auto with_callback_in = [](std::string queue) {
        return R"({"kind": "echo", "queue": "own", "on_failure":)"
               R"( {"url": "https://example.com/", "queue": ")" +
               queue + "\"}}";
    };
    const answer foreign =
        co_await here.post("/tasks", with_callback_in("other"), bearer(lines[7]));
    EXPECT_EQ(foreign.code, 403U);
    EXPECT_EQ(foreign["scope"], "submit@other");
    const answer batch =
        co_await here.post("/tasks/batch", "[" + with_callback_in("other") + "]", bearer(lines[7]));
    EXPECT_EQ(batch.json.at("results").at(0).at("error").at("status"), 403);
    const answer planned = co_await here.ask(
        http::method::put, "/schedules/nightly",
        R"({"cron": "0 3 * * *", "task": )" + with_callback_in("other") + "}", bearer(lines[5]));
    EXPECT_EQ(planned.code, 403U);
    const answer own = co_await here.post("/tasks", with_callback_in("own"), bearer(lines[7]));
    EXPECT_NE(own.code, 403U) << own.text;
}

WEIR_TEST(ServiceScopes, TheFeedShowsOnlyTheQueuesOfTheToken) {
    simulated_network net({.link = {.latency = 5ms}});
    served server(net, {.access = {.tokens = lines}});
    std::vector<std::string> heard;
    bool is_ready = false;
    auto read_all = [&](ws::connection& peer) -> weir::task<> {
        const bj::value begun = co_await next(peer, "subscribed");
        EXPECT_EQ(begun.at("topic"), "all");
        is_ready = true;
        while (heard.size() < 2) {
            const bj::value message = co_await next(peer, "tasks");
            for (const bj::value& each : message.at("tasks").as_array()) {
                heard.emplace_back(each.at("queue").as_string());
                EXPECT_EQ(message.at("topic"), "all");
            }
        }
    };
    const handshake other(lines[9]);
    const ws::connect_options as_other{.headers = other.headers};
    const auto watching = weir::spawn(server.visit("/events?topic=all", read_all, as_other));
    while (!is_ready) {
        co_await weir::sleep(10ms);
    }
    for (const char* queue : {"own", "other", "own", "more/b"}) {
        new_task fresh("sleep", R"({"seconds": 1000})");
        fresh.queue = queue;
        co_await server.here.tasks.submit(std::move(fresh));
        co_await weir::sleep(1s);
    }
    co_await watching;
    for (const std::string& each : heard) {
        EXPECT_TRUE(each == "other" || each == "more/b") << each;
    }

    auto refused = [](ws::connection& peer) -> weir::task<> {
        for (const char* topic : {"stats", "queue:own"}) {
            const std::string subscribe = R"({"subscribe": ")" + std::string(topic) + "\"}";
            co_await peer.send(ws::frame::text(subscribe));
            const bj::value error = co_await next(peer, "error");
            EXPECT_NE(std::string(error.at("detail").as_string()).find("does not have the scope"),
                      std::string::npos);
        }
        co_await peer.send(ws::frame::text(R"({"subscribe": "queues"})"));
        const bj::value queues = co_await next(peer, "queues");
        EXPECT_EQ(queues.at("queues").as_array().size(), 2U) << bj::serialize(queues);
    };
    co_await server.visit("/events", refused, as_other);
    co_await server.stop();
}

// The client of a task knows its id, and hears of it; of one in another queue it hears nothing.
WEIR_TEST(ServiceScopes, ASubmitTokenHearsOfItsTasksById) {
    simulated_network net({.link = {.latency = 5ms}});
    served server(net, {.access = {.tokens = lines}});
    new_task fresh("sleep", R"({"seconds": 5})");
    fresh.queue = "own";
    const submit_result own = co_await server.here.tasks.submit(fresh);
    fresh.queue = "other";
    const submit_result other = co_await server.here.tasks.submit(fresh);
    const handshake sender(lines[7]);
    const ws::connect_options as_sender{.headers = sender.headers};
    auto wait_for_end = [&](ws::connection& peer) -> weir::task<> {
        for (;;) {
            const bj::value message = co_await next(peer, "tasks");
            EXPECT_EQ(message.at("topic").as_string(), "task:" + own.id.text());
            if (message.at("tasks").at(0).at("state") == "completed") {
                co_return;
            }
        }
    };
    co_await server.visit("/events?topic=task:" + other.id.text() + "&topic=task:" + own.id.text(),
                          wait_for_end, as_sender);
    auto all_is_refused = [](ws::connection& peer) -> weir::task<> {
        const bj::value error = co_await next(peer, "error");
        EXPECT_EQ(error.at("topic"), "all");
    };
    co_await server.visit("/events?topic=all", all_is_refused, as_sender);
    co_await server.stop();
}

WEIR_TEST(ServiceScopes, ReplacedTokensCountForTheNextRequestAndEndTheFeedsOfThoseThatAreGone) {
    simulated_network net({.link = {.latency = 5ms}});
    access_control control({.tokens = lines});
    served server(net, {.control = &control});
    const handshake reader(lines[2]);
    const ws::connect_options as_reader{.headers = reader.headers};
    bool is_replaced = false;
    auto listen = [&](ws::connection& peer) -> weir::task<> {
        const bj::value begun = co_await next(peer, "subscribed");
        static constexpr std::array<std::string_view, 2> fewer = {lines[0], lines[3]};
        control.replace({.tokens = fewer});
        is_replaced = true;
        const std::optional<ws::message> end = co_await weir::timeout(5s, peer.receive());
        EXPECT_FALSE(end.has_value());
    };
    co_await server.visit("/events?topic=all", listen, as_reader);
    EXPECT_TRUE(is_replaced);
    const answer gone = co_await server.here.get("/tasks", bearer(lines[2]));
    EXPECT_EQ(gone.code, 401U);
    const answer kept = co_await server.here.get("/tasks", bearer(lines[0]));
    EXPECT_EQ(kept.code, 200U);
    EXPECT_THROW(control.replace({}), weir::invalid_argument);
    static constexpr std::array<std::string_view, 1> wrong = {"full-0123456789abcdef write"};
    EXPECT_THROW(control.replace({.tokens = wrong}), weir::invalid_argument);
    const answer still = co_await server.here.get("/tasks", bearer(lines[0]));
    EXPECT_EQ(still.code, 200U);
    co_await server.stop();
}
