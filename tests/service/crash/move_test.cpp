// SPDX-License-Identifier: MIT
// The service moves its store to PostgreSQL and back under load, while its process, the server or
// both are killed, the server freezes, or the network between them fails. Every acknowledged task
// is there, once, and has run to its end; nothing is repeated without need.
//
// The short form harms one move there and one back, each in several of its phases. WEIR_STRESS=1:
// again and again, with a million ended and 100,000 pending tasks and 100 kills at random moments.
// WEIR_MOVE_ENDED, WEIR_MOVE_PENDING and WEIR_MOVE_KILLS choose other numbers.

#include "support.hpp"
#include <support/peers/postgres.hpp>

#include <weir/io/address.hpp>
#include <weir/service/store_mover.hpp>
#include <weir/testing/io/fault_proxy.hpp>

#include <boost/json/serialize.hpp>

#include <sys/resource.h>

#include <filesystem>

namespace {

using namespace crash_test;

constexpr const char* old_queue = "old";

std::size_t from_environment(const char* name, std::size_t otherwise) {
    const char* const text = std::getenv(name);
    return text != nullptr ? static_cast<std::size_t>(std::atoll(text)) : otherwise;
}

struct move_found {
    std::string phase;  // away: the service cannot be asked
    std::string from;
    std::string error;
    bool is_under_way = false;
    double held = 0;
};

enum class direction { any, there, back };

class moving_service {
public:
    explicit moving_service(std::size_t ended, std::size_t pending)
        : ended_(ended), pending_(pending) {
        callers.target = [this] { return one != nullptr ? one->url() : std::string(); };
    }

    task<> fill() {
        const std::unique_ptr<store> kept = co_await open_sqlite_store(at.database());
        moment now;
        now.at = std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
        now.steady = now.at;
        co_await kept->heartbeat(store_test::bench::node("filler", now.steady + 24h), now);
        constexpr std::size_t together = 1000;
        for (std::size_t i = 0; i < ended_; i += together) {
            std::vector<new_task> all(std::min(together, ended_ - i), new_task("old"));
            for (new_task& each : all) {
                each.queue = old_queue;
                each.payload = R"({"to": "somebody@example.com", "text": "as short as most"})";
            }
            co_await kept->submit(std::move(all), now);
            claim_request request;
            request.node = "filler";
            request.now = now;
            request.limit = together;
            const claimed got = co_await kept->claim(request);
            std::vector<settlement> ends;
            for (const task_record& each : got.tasks) {
                ends.push_back(store_test::bench::ending(each, task_state::completed));
            }
            co_await kept->settle("filler", std::move(ends), now);
        }
        for (std::size_t i = 0; i < pending_; i += together) {
            std::vector<new_task> all(std::min(together, pending_ - i), new_task("work"));
            for (new_task& each : all) {
                each.payload = R"({"ms": 1})";
                each.flow_key = "waits";
            }
            const std::vector<submit_result> made = co_await kept->submit(std::move(all), now);
            for (const submit_result& each : made) {
                callers.acknowledged.insert(each.id.number());
            }
        }
        // They run one after the other, so that many of them wait all the time.
        co_await kept->retire("filler");
        co_await kept->close();
    }

    // False: it cannot start now.
    task<bool> start() {
        one = nullptr;
        node_.reset();
        std::vector<std::string> settings{"max_crashes=1000"};
        if (!schema_.empty()) {
            settings.push_back("schema=" + schema_);
        }
        node_ = std::make_unique<node>(at, ++number_, settings);
        const bool is_there = co_await node_->is_there();
        if (is_there) {
            one = node_.get();
        } else {
            co_await node_->kill();
            hurt.insert(number_);
        }
        co_return is_there;
    }
    task<> kill() {
        one = nullptr;
        co_await node_->kill();
        hurt.insert(number_);
    }

    task<move_found> look() {
        move_found found;
        try {
            const auto answer = co_await callers.ask(http::method::get, node_->url() + "/move");
            EXPECT_EQ(answer.first, 200) << answer.second;
            const bj::value body = http::parse_json(answer.second);
            found.phase = http::member<std::string>(body, "phase");
            found.from = http::member<std::string>(body, "database");
            found.error = http::optional_member<std::string>(body, "error").value_or("");
            found.is_under_way = http::member<bool>(body, "is_under_way");
            found.held = http::member<double>(body, "held_seconds");
        } catch (const http::transport_error&) {
            found.phase = "away";
        }
        co_return found;
    }

    // Moves on to the next database if the last move has ended, and that one is wanted.
    task<move_found> move_on(direction wanted_move = direction::any) {
        move_found found = co_await look();
        if (found.is_under_way || found.phase == "away") {
            co_return found;
        }
        EXPECT_NE(found.phase, "failed") << found.error;
        const bool is_file = !is_postgres_url(found.from);
        if (found.from != last_) {
            last_ = found.from;
            at.moved_to = is_file ? found.from : url();
            schema_ = is_file ? "" : next_schema_;
            ++moves;
            double& longest = is_hold_disturbed ? longest_disturbed : longest_hold;
            longest = std::max(longest, found.held);
            is_hold_disturbed = false;
        }
        if (wanted_move == (is_file ? direction::back : direction::there)) {
            co_return found;
        }
        ++targets_;
        bj::object wanted;
        if (is_file) {
            next_schema_ = "m" + std::to_string(targets_);
            wanted = {{"to", url()}, {"schema", next_schema_}};
        } else {
            const std::string folder = (at.folder / ("m" + std::to_string(targets_))).string();
            std::filesystem::create_directory(folder);
            wanted = {{"to", folder + "/tasks.db"}};
        }
        std::pair<int, std::string> answer;
        try {
            answer = co_await callers.ask(http::method::post, node_->url() + "/move",
                                          bj::serialize(wanted));
        } catch (const http::transport_error&) {
            co_return found;
        }
        EXPECT_EQ(answer.first, 202) << answer.second;
        found.is_under_way = true;
        co_return found;
    }

    // Of the server, through the proxy.
    std::string url() const { return server.url("postgres", network.address().port()); }

    weir_test::postgres server;
    weir::testing::fault_proxy network{weir::io::address::loopback(server.port())};
    place at;
    clients callers{20};
    node* one = nullptr;  // null: it cannot be reached
    std::set<int> hurt;
    std::map<std::string, int> killed_in;
    int moves = -1;  // that have ended; the first look finds where it begins
    double longest_hold = 0;
    double longest_disturbed = 0;  // of those that waited for what was harmed
    bool is_hold_disturbed = false;
    int number() const noexcept { return number_; }

private:
    std::size_t ended_;
    std::size_t pending_;
    int number_ = -1;
    int targets_ = 0;
    std::string last_;
    std::string schema_;
    std::string next_schema_;
    std::unique_ptr<node> node_;
};

milliseconds at_most(std::mt19937& random, int longest) {
    return milliseconds(random() % static_cast<unsigned>(longest));
}

enum class harm { process, both, server, freeze, cut, silence };

// The process, the server or both die; the server freezes; the connections are cut, or nothing
// passes on them for a while.
task<> do_harm(moving_service& here, std::mt19937& random, harm what) {
    const move_found found = co_await here.look();
    ++here.killed_in[found.is_under_way ? found.phase : "between"];
    const milliseconds moment = at_most(random, is_stress() ? 2000 : 200);
    if (what != harm::process && what != harm::both && found.phase != "copying") {
        here.is_hold_disturbed = true;
    }
    switch (what) {
        case harm::freeze:
            here.server.freeze();
            co_await weir::sleep(moment);
            here.server.thaw();
            co_return;
        case harm::silence:
            here.network.set({.half_open = true});
            co_await weir::sleep(moment);
            here.network.set({});
            here.network.reset_all();
            co_return;
        case harm::cut:
            here.network.reset_all();
            co_return;
        case harm::process:
            co_await here.kill();
            co_return;
        case harm::both:
        case harm::server:
            here.server.kill();
            if (what == harm::both) {
                co_await here.kill();
            }
            co_await weir::sleep(at_most(random, 300));
            here.server.start();
            co_return;
    }
}

harm any_harm(std::mt19937& random) {
    constexpr harm likely[] = {harm::process, harm::process, harm::process, harm::process,
                               harm::process, harm::both,    harm::both,    harm::server,
                               harm::freeze,  harm::cut,     harm::silence};
    return likely[random() % std::size(likely)];
}

// Begins it if needed, unless its end is reached.
task<> wait_for_move(moving_service& here, direction wanted) {
    const weir::clock::time_point end = weir::now() + (is_stress() ? 900s : 60s);
    for (;;) {
        const move_found found = co_await here.move_on(wanted);
        if (!found.is_under_way && found.phase != "away" &&
            is_postgres_url(found.from) == (wanted == direction::there)) {
            co_return;
        }
        if (weir::now() > end) {
            throw std::runtime_error("the move has not ended: " + found.phase + " " + found.error);
        }
        co_await weir::sleep(20ms);
    }
}

// Until the move is in this phase or has passed it.
task<> wait_for_phase(moving_service& here, std::string_view wanted) {
    using phase = store_move_state::phase;
    const auto has_come = [&](const move_found& found) {
        for (const phase each :
             {phase::copying, phase::following, phase::comparing, phase::switching}) {
            if (to_string(each) == wanted) {
                return true;
            }
            if (to_string(each) == found.phase) {
                return false;
            }
        }
        return true;
    };
    const weir::clock::time_point end = weir::now() + (is_stress() ? 900s : 60s);
    for (;;) {
        const move_found found = co_await here.look();
        if (found.phase != "away" && (!found.is_under_way || has_come(found))) {
            co_return;
        }
        if (weir::now() > end) {
            throw std::runtime_error("the move does not go on: " + found.phase + " " + found.error);
        }
        co_await weir::sleep(1ms);
    }
}

// The service ends, and everything is right.
task<> check_move(moving_service& here, std::size_t ended) {
    co_await here.callers.stop();
    co_await until_idle(here.callers, *here.one, is_stress() ? 900s : 60s);
    here.one->signal(SIGTERM);
    const weir::exit_status status = co_await here.one->ended();
    EXPECT_TRUE(status.success()) << status.text();
    WEIR_ASSERT_FALSE(is_postgres_url(here.at.database()));

    contents kept = co_await read_store(here.at);
    std::size_t old = 0;
    std::erase_if(kept.tasks, [&](const auto& each) {
        old += each.second.kind == "old" ? 1 : 0;
        return each.second.kind == "old";
    });
    EXPECT_EQ(old, ended);
    std::erase_if(kept.queues, [](const queue_record& each) { return each.name == old_queue; });
    const book ledger = read_ledger(here.at);
    expectations wanted;
    wanted.hurt = here.hurt;
    check(kept, ledger, here.callers.acknowledged, wanted);

    std::vector<weir::clock::duration>& times = here.callers.times;
    std::sort(times.begin(), times.end());
    const auto quantile = [&](double share) {
        return static_cast<long long>(
            times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))] / 1ms);
    };
    std::printf(
        "%zu old, %zu tasks, %zu acknowledged, %zu refused, %zu unanswered; %d moves; submits p50 "
        "%lld p99 %lld longest %lld ms; writes held %.3f s at most; killed",
        old, kept.tasks.size(), here.callers.acknowledged.size(), here.callers.refused,
        here.callers.unanswered, here.moves, quantile(0.5), quantile(0.99), quantile(1),
        here.longest_hold);
    for (const auto& [phase, count] : here.killed_in) {
        std::printf(" %s %d", phase.c_str(), count);
    }
    std::printf("\n");
    if (is_stress()) {
        EXPECT_LE(here.longest_hold, 1.0) << "writes were held for too long";
        EXPECT_LE(quantile(0.99), 2000) << "submits took too long";
    }
}

// Kills at random moments, and then a move back that is left alone.
task<> move_under_fire(std::size_t ended, std::size_t pending, int kills, int longest_ms) {
    moving_service here(ended, pending);
    std::mt19937 random(static_cast<unsigned>(from_environment("WEIR_MOVE_SEED", 9)));
    co_await here.fill();
    here.callers.start(8);
    for (int i = 0; i < kills;) {
        if (here.one == nullptr) {
            const bool is_there = co_await here.start();
            if (!is_there) {
                continue;
            }
        }
        co_await here.move_on();
        // Most kills come in the middle of a move, some right after its begin or end, and some in
        // the phases that are short.
        if (i % 5 == 4) {
            co_await wait_for_phase(here, i % 10 == 4 ? "comparing" : "switching");
        } else {
            co_await weir::sleep(at_most(random, random() % 4 == 0 ? 60 : longest_ms));
        }
        co_await do_harm(here, random, any_harm(random));
        ++i;
    }
    while (here.one == nullptr) {
        co_await here.start();
    }
    const std::size_t before = here.callers.times.size();
    co_await wait_for_move(here, direction::back);
    co_await check_move(here, ended);
    EXPECT_GE(here.moves, 2);
    EXPECT_GT(here.callers.times.size(), before);
}

// There and back, harmed once in each phase, and again in one of them.
task<> move_harmed_in_each_phase() {
    constexpr std::pair<std::string_view, harm> there[] = {{"copying", harm::process},
                                                           {"following", harm::cut},
                                                           {"comparing", harm::both},
                                                           {"switching", harm::process}};
    constexpr std::pair<std::string_view, harm> back[] = {{"copying", harm::freeze},
                                                          {"comparing", harm::process},
                                                          {"switching", harm::server},
                                                          {"following", harm::silence}};
    constexpr std::size_t ended = 1500;
    moving_service here(ended, 50);
    here.callers.most_tasks = 2000;  // however long it takes
    std::mt19937 random(9);
    co_await here.fill();
    here.callers.start(4);
    for (const direction to : {direction::there, direction::back}) {
        for (const auto& [phase, what] : to == direction::there ? there : back) {
            while (here.one == nullptr) {
                co_await here.start();
            }
            co_await here.move_on(to);
            co_await wait_for_phase(here, phase);
            co_await do_harm(here, random, what);
        }
        while (here.one == nullptr) {
            co_await here.start();
        }
        co_await wait_for_move(here, to);
    }
    co_await check_move(here, ended);
    EXPECT_EQ(here.moves, 2);
    EXPECT_GE(here.killed_in.size(), 3U);
}

TEST(ServiceMove, HarmedInEachPhaseUnderLoad) {
    if (WEIR_RECYCLES_FRAMES == 0) {
        GTEST_SKIP() << "with sanitizers, starting the service ten times takes too long";
    }
    weir::run(move_harmed_in_each_phase());
}

TEST(ServiceMove, KilledAtRandomMomentsUnderLoad) {
    if (!is_stress()) {
        GTEST_SKIP() << "WEIR_STRESS=1 runs it";
    }
    weir::run(move_under_fire(from_environment("WEIR_MOVE_ENDED", 1'000'000),
                              from_environment("WEIR_MOVE_PENDING", 100'000),
                              static_cast<int>(from_environment("WEIR_MOVE_KILLS", 100)),
                              static_cast<int>(from_environment("WEIR_MOVE_LONGEST", 20'000))));
}

// The disk of the target is full for a while: the service goes on, and so does the move in the end.
task<> move_to_a_full_disk() {
    moving_service here(2000, 50);
    here.at.has_ledger = false;  // a file as well
    co_await here.fill();
    const bool is_there = co_await here.start();
    WEIR_ASSERT_TRUE(is_there);
    here.callers.start(4);
    co_await here.move_on();
    move_found found = co_await here.look();
    while (found.is_under_way) {
        co_await weir::sleep(10ms);
        found = co_await here.look();
    }
    EXPECT_EQ(found.phase, "moved") << found.error;
    rlimit little{};
    WEIR_ASSERT_EQ(::prlimit(here.one->pid(), RLIMIT_FSIZE, nullptr, &little), 0);
    const rlimit enough = little;
    little.rlim_cur = 1'500'000;
    WEIR_ASSERT_EQ(::prlimit(here.one->pid(), RLIMIT_FSIZE, &little, nullptr), 0);
    co_await here.move_on();
    found = co_await here.look();
    while (found.error.empty() && found.is_under_way) {
        co_await weir::sleep(10ms);
        found = co_await here.look();
    }
    EXPECT_TRUE(found.is_under_way) << found.phase << " " << found.error;
    const std::size_t before = here.callers.acknowledged.size();
    co_await weir::sleep(100ms);
    EXPECT_GT(here.callers.acknowledged.size(), before);
    WEIR_ASSERT_EQ(::prlimit(here.one->pid(), RLIMIT_FSIZE, &enough, nullptr), 0);
    co_await wait_for_move(here, direction::back);
    co_await here.callers.stop();
    co_await until_idle(here.callers, *here.one);
    here.one->signal(SIGTERM);
    const weir::exit_status status = co_await here.one->ended();
    EXPECT_TRUE(status.success()) << status.text();
    contents kept = co_await read_store(here.at);
    for (const std::int64_t id : here.callers.acknowledged) {
        EXPECT_TRUE(kept.tasks.contains(id)) << "lost: " << task_id(id).text();
    }
}

TEST(ServiceMove, WaitsForSpaceOnTheDisk) {
    if (!is_stress() && std::getenv("WEIR_MOVE_SHORT") == nullptr) {
        GTEST_SKIP() << "WEIR_STRESS=1 or WEIR_MOVE_SHORT=1 runs it: it takes 20 seconds and more";
    }
    weir::run(move_to_a_full_disk());
}

}  // namespace
