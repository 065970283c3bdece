// SPDX-License-Identifier: MIT
// Processes that serve one database, clients that submit to them, and the invariants that must hold
// in the end, checked against the ledger that their handlers keep.
#pragma once

#include "service/store/stores.hpp"
#include <support/peers/program.hpp>

#include <weir/cancel.hpp>
#include <weir/group.hpp>
#include <weir/http/client.hpp>
#include <weir/http/json.hpp>
#include <weir/io/process.hpp>
#include <weir/run.hpp>
#include <weir/service/postgres_store.hpp>
#include <weir/service/sqlite_store.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace crash_test {

namespace http = weir::http;
namespace bj = boost::json;
using namespace std::chrono_literals;
using namespace weir::service;
using std::chrono::milliseconds;
using weir::task;

inline bool is_stress() {
    return std::getenv("WEIR_STRESS") != nullptr;
}

struct place {
    weir_test::temporary_folder folder;
    std::string url;  // of a PostgreSQL database, in place of a file
    std::string database() const {
        if (!moved_to.empty()) {
            return moved_to;
        }
        return url.empty() ? (folder / "tasks.db").string() : url;
    }
    std::string ledger() const {
        return has_ledger ? (folder / "ledger").string() : std::string("/dev/null");
    }
    bool has_ledger = true;
    std::string moved_to;
};

// One process.
class node {
public:
    node(const place& at, int number, const std::vector<std::string>& settings) : number_(number) {
        std::vector<std::string> words{WEIR_CRASH_NODE, at.database(), at.ledger(),
                                       std::to_string(number)};
        words.insert(words.end(), settings.begin(), settings.end());
        process_ = weir::process(words, {.in = weir::stdio::null, .out = weir::stdio::pipe});
    }
    // Until it can be reached; false if it ended before.
    task<bool> is_there() {
        std::string line;
        std::array<char, 16> space{};
        while (line.find('\n') == std::string::npos) {
            const std::size_t count =
                co_await process_.out().read(std::as_writable_bytes(std::span(space)));
            if (count == 0) {
                co_return false;
            }
            line.append(space.data(), count);
        }
        url_ = "http://127.0.0.1:" + std::to_string(std::atoi(line.c_str()));
        co_return true;
    }
    void signal(int number) { process_.kill(number); }
    task<weir::exit_status> ended() { return process_.wait(); }
    task<> kill() {
        url_.clear();
        process_.kill(SIGKILL);
        co_await process_.wait();
    }
    int number() const noexcept { return number_; }
    int pid() const { return process_.pid(); }
    const std::string& url() const noexcept { return url_; }  // empty: not there

private:
    int number_;
    weir::process process_;
    std::string url_;
};

// Clients, each with one request in flight. Half of them give their tasks an idempotency key and
// repeat a submit until it is answered; the others give up a request without an answer, which may
// or may not have created its task.
class clients {
public:
    explicit clients(int longest_ms, unsigned seed = 1) : random_(seed), longest_(longest_ms) {}

    void start(int count) {
        for (int i = 0; i < count; ++i) {
            running_.push_back(weir::spawn(submit_forever(i % 2 == 0)));
        }
    }
    // Each has its answer, or gives up.
    task<> stop() {
        is_stopping_ = true;
        for (weir::handle<>& each : running_) {
            co_await each.wait();
        }
        running_.clear();
    }
    // The URL to submit to, called for each request; empty if no process is available.
    std::function<std::string()> target;
    std::set<std::int64_t> acknowledged;
    std::size_t most_tasks = 1'000'000'000;  // then they submit no more
    std::size_t refused = 0;                 // 503
    std::size_t unanswered = 0;
    std::vector<weir::clock::duration> times;  // of submits that were answered

    // The status, and the body.
    task<std::pair<int, std::string>> ask(http::method verb, std::string url,
                                          std::string body = {}) {
        http::client_request wanted(verb, url);
        wanted.set_timeout(20s);
        if (verb != http::method::get) {
            wanted.set_body(std::move(body), "application/json");
        }
        http::client_response answer = co_await client_.send(std::move(wanted));
        std::string text = co_await answer.text();
        co_return std::pair(static_cast<int>(answer.status()), std::move(text));
    }

private:
    task<> submit_forever(bool is_named) {
        while (!is_stopping_) {
            if (acknowledged.size() < most_tasks) {
                co_await submit_one(is_named);
            }
            co_await weir::sleep(std::chrono::microseconds(random_() % 4000));
        }
    }
    task<> submit_one(bool is_named) {
        std::string body = R"({"kind": "work", "payload": {"ms": )" +
                           std::to_string(random_() % static_cast<unsigned>(longest_ + 1)) + "}";
        if (is_named) {
            body += R"(, "idempotency_key": "k)" + std::to_string(++names_) + "\"";
        }
        if (random_() % 2 == 0) {
            body += R"(, "on_success": "https://example.com/")";
        }
        body += R"(, "flow_key": "f)" + std::to_string(random_() % 5) + "\"}";
        for (;;) {
            const std::string url = target();
            if (url.empty()) {
                co_await weir::sleep(1ms);
                if (is_stopping_ && !is_named) {
                    co_return;
                }
                continue;
            }
            bool is_answered = false;
            std::pair<int, std::string> answer;
            const weir::clock::time_point begun = weir::now();
            try {
                answer = co_await ask(http::method::post, url + "/tasks", body);
                is_answered = true;
                times.push_back(weir::now() - begun);
            } catch (const http::transport_error&) {
            } catch (const http::request_timed_out&) {
            }
            // 200: it had been made before the answer was lost.
            if (is_answered && (answer.first == 202 || (answer.first == 200 && is_named))) {
                note(answer.second);
                co_return;
            }
            if (is_answered && answer.first != 503) {
                ADD_FAILURE() << "a submit was answered with " << answer.first << ": "
                              << answer.second;
                co_return;
            }
            ++(is_answered ? refused : unanswered);
            if (!is_named) {
                co_return;
            }
            co_await weir::sleep(2ms);
        }
    }
    void note(const std::string& text) {
        const auto id = task_id::parse(http::member<std::string>(http::parse_json(text), "id"));
        ASSERT_TRUE(id.has_value()) << text;
        EXPECT_TRUE(acknowledged.insert(id->number()).second) << "an id was given twice: " << text;
    }

    std::mt19937 random_;
    int longest_;
    int names_ = 0;
    bool is_stopping_ = false;
    http::client client_{{.max_connections = 64, .max_per_host = 64}};
    std::vector<weir::handle<>> running_;
};

// Waits until no task is pending or running, as reported by the process.
inline task<> until_idle(clients& callers, const node& at, weir::clock::duration limit = 60s) {
    const weir::clock::time_point end = weir::now() + limit;
    for (;;) {
        const std::pair<int, std::string> answer =
            co_await callers.ask(http::method::get, at.url() + "/queues/default");
        if (answer.first == 200) {
            const bj::value queue = http::parse_json(answer.second);
            const bj::value& counts = queue.at("counts");
            if (counts.at("pending").to_number<int>() == 0 &&
                counts.at("running").to_number<int>() == 0) {
                co_return;
            }
        }
        if (weir::now() > end) {
            ADD_FAILURE() << "tasks are left: " << answer.second;
            co_return;
        }
        co_await weir::sleep(20ms);
    }
}

struct book_entry {
    std::string what;  // begin, end, stop
    std::uint32_t run = 0;
    int process = 0;
};
using book = std::map<std::int64_t, std::vector<book_entry>>;

inline book read_ledger(const place& at) {
    book all;
    std::ifstream file(at.ledger());
    std::int64_t id = 0;
    book_entry line;
    while (file >> line.what >> id >> line.run >> line.process) {
        if (line.what != "kill") {  // a note of the test
            all[id].push_back(line);
        }
    }
    EXPECT_TRUE(file.eof()) << "the ledger cannot be read to its end";
    return all;
}

// Whether a task had to be run again by now.
inline bool is_any_repeated(const book& ledger) {
    return std::any_of(ledger.begin(), ledger.end(),
                       [](const auto& each) { return each.second.back().run > 1; });
}

struct contents {
    std::map<std::int64_t, task_record> tasks;
    std::vector<queue_record> queues;
};

// The contents of a database that no process serves any more. Also checks the tables of the store.
inline task<contents> read_store(const place& at) {
    contents all;
    std::unique_ptr<store> kept;
    if (at.url.empty()) {
        kept = co_await open_sqlite_store(at.database());
    } else {
        kept = co_await open_postgres_store(at.url);
    }
    task_filter filter;
    filter.limit = 1000;
    const timestamp now =
        std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
    for (;;) {
        std::vector<task_record> page = co_await kept->list(filter, now);
        if (page.empty()) {
            break;
        }
        filter.before = page.back().id;
        for (task_record& each : page) {
            const std::int64_t id = each.id.number();
            EXPECT_TRUE(all.tasks.emplace(id, std::move(each)).second);
        }
    }
    all.queues = co_await kept->queues();
    co_await kept->close();
    if (at.url.empty()) {
        co_await store_test::inspect_sqlite(
            std::filesystem::path(at.database()).parent_path().string());
    } else {
        co_await store_test::inspect_tables(at.folder.path().string(), at.url, "weir");
    }
    co_return all;
}

struct expectations {
    std::set<int> hurt;     // processes that were killed or frozen: only their runs are repeated
    bool may_stop = false;  // runs may be returned, but none crashes
    bool is_frozen =
        false;  // a process that is not killed may repeat a task, and returns the runs that it has to stop
};

// The end of each task has created its callback, and once.
inline void check_callbacks(const contents& kept) {
    std::map<std::string, std::size_t> delivered;  // by task
    std::size_t all = 0;
    for (const auto& [id, task] : kept.tasks) {
        if (task.kind == callback_kind) {
            const bj::value payload = http::parse_json(task.payload);
            ++delivered[std::string(payload.at("body").at("id").as_string())];
            ++all;
        }
    }
    std::size_t wanted = 0;
    for (const auto& [id, task] : kept.tasks) {
        if (task.on_success.is_set()) {
            EXPECT_EQ(delivered[task.id.text()], 1u) << task.id.text();
            ++wanted;
        }
    }
    EXPECT_EQ(all, wanted);
    EXPECT_GT(wanted, kept.tasks.size() / 10);
}

// Tasks that were 'work', all of which must have completed.
inline void check(const contents& kept, const book& ledger,
                  const std::set<std::int64_t>& acknowledged, const expectations& wanted) {
    for (const std::int64_t id : acknowledged) {
        EXPECT_TRUE(kept.tasks.contains(id)) << "lost: " << task_id(id).text();
    }
    for (const auto& [id, lines] : ledger) {
        EXPECT_TRUE(kept.tasks.contains(id)) << "run, but not there: " << task_id(id).text();
    }
    for (const auto& [id, task] : kept.tasks) {
        SCOPED_TRACE("task " + task.id.text() + ", run " + std::to_string(task.run) + ", crashes " +
                     std::to_string(task.crashes));
        EXPECT_EQ(task.state, task_state::completed) << task.error;
        EXPECT_EQ(task.failures, 0u) << task.error;  // no crash spends an attempt
        EXPECT_EQ(task.result, std::to_string(task.run));
        if (wanted.may_stop) {
            EXPECT_EQ(task.crashes, 0u);
        } else if (wanted.is_frozen) {
            EXPECT_GE(task.run, task.crashes + 1);
        } else {
            EXPECT_EQ(task.run, task.crashes + 1);
        }
        if (!ledger.contains(id)) {
            ADD_FAILURE() << "completed, but never run";
            continue;
        }
        std::map<std::uint32_t, int> begun;  // by run
        std::set<std::uint32_t> stopped;
        std::uint32_t ends_of_last = 0;
        for (const book_entry& line : ledger.at(id)) {
            EXPECT_LE(line.run, task.run);
            if (line.what == "begin") {
                EXPECT_FALSE(begun.contains(line.run)) << "begun twice";
                // A process that was frozen just before a run begins it after other processes have
                // run the task.
                EXPECT_TRUE(begun.empty() || wanted.is_frozen || begun.rbegin()->first < line.run)
                    << "begun too late";
                EXPECT_TRUE(begun.empty() || wanted.is_frozen || wanted.may_stop ||
                            begun.rbegin()->second < line.process)
                    << "repeated though its process lived";
                begun.emplace(line.run, line.process);
                continue;
            }
            EXPECT_TRUE(begun.contains(line.run) && begun[line.run] == line.process);
            ends_of_last += line.run == task.run && line.what == "end" ? 1 : 0;
            if (line.what == "stop") {
                stopped.insert(line.run);
            }
        }
        EXPECT_EQ(ends_of_last, 1u) << "it has to end once, in the run that counts";
        for (const auto& [run, process] : begun) {
            if (run < task.run) {
                EXPECT_TRUE(wanted.hurt.contains(process) ||
                            (wanted.may_stop && stopped.contains(run)))
                    << "run " << run << " was repeated though nothing happened to process "
                    << process;
            }
        }
        if (::testing::Test::HasFailure()) {
            break;  // one is enough to read
        }
    }
    ASSERT_EQ(kept.queues.size(), 1u);
    EXPECT_EQ(kept.queues[0].count(task_state::completed), ledger.size());
    EXPECT_EQ(kept.queues[0].count(task_state::completed), kept.tasks.size());
    EXPECT_EQ(kept.queues[0].count(task_state::running), 0u);
    EXPECT_EQ(kept.queues[0].count(task_state::pending), 0u);
    EXPECT_EQ(kept.queues[0].due, 0u);
}

// Shuts the process down and checks all invariants.
inline task<> finish(const place& at, node& last, const clients& callers, expectations wanted) {
    last.signal(SIGTERM);
    const weir::exit_status status = co_await last.ended();
    EXPECT_TRUE(status.success()) << status.text();
    const contents kept = co_await read_store(at);
    const book ledger = read_ledger(at);
    check(kept, ledger, callers.acknowledged, wanted);
    check_callbacks(kept);
    std::size_t crashed = 0;
    for (const auto& [id, task] : kept.tasks) {
        crashed += task.crashes;
    }
    std::printf("%zu tasks, %zu acknowledged, %zu unanswered, %zu refused, %zu runs cut short\n",
                kept.tasks.size(), callers.acknowledged.size(), callers.unanswered, callers.refused,
                crashed);
    EXPECT_TRUE(wanted.hurt.empty() || is_any_repeated(ledger)) << "nothing was tried";
}

}  // namespace crash_test
