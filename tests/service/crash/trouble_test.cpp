// SPDX-License-Identifier: MIT
// Failures that leave the process alive: a full disk, and many dashboards of which some do not
// read.

#include "support.hpp"

#include <weir/ws/client.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace {

using namespace crash_test;
namespace ws = weir::ws;

void let_files_grow(const node& target, rlim_t most) {
    rlimit limit{};
    ASSERT_EQ(prlimit(target.pid(), RLIMIT_FSIZE, nullptr, &limit), 0);
    limit.rlim_cur = std::min(most, limit.rlim_max);
    ASSERT_EQ(prlimit(target.pid(), RLIMIT_FSIZE, &limit, nullptr), 0);
}

// Each response is an acknowledgement or a refusal; when the disk has room again, the service
// recovers.
task<> disk_takes_nothing() {
    place at;
    at.has_ledger = false;  // a file as well
    node one(at, 0, {"busy=300", "max_crashes=100", "lease=2000"});
    const bool is_there = co_await one.is_there();
    EXPECT_TRUE(is_there);
    clients callers(5);
    callers.target = [&] { return one.url(); };
    callers.start(4);
    for (int round = 0; round < 2; ++round) {
        co_await weir::sleep(200ms);
        const std::size_t refused = callers.refused;
        let_files_grow(one, 4096);
        for (int i = 0; i < 500 && callers.refused < refused + 5; ++i) {
            co_await weir::sleep(10ms);
        }
        EXPECT_GE(callers.refused, refused + 5);
        const auto ready = co_await callers.ask(http::method::get, one.url() + "/readyz");
        EXPECT_EQ(ready.first, 503) << ready.second;
        const auto health = co_await callers.ask(http::method::get, one.url() + "/healthz");
        EXPECT_EQ(health.first, 200) << health.second;
        let_files_grow(one, RLIM_INFINITY);
        const std::size_t known = callers.acknowledged.size();
        for (int i = 0; i < 1000 && callers.acknowledged.size() < known + 20; ++i) {
            co_await weir::sleep(10ms);
        }
        EXPECT_GE(callers.acknowledged.size(), known + 20);
    }
    co_await callers.stop();
    co_await until_idle(callers, one);
    one.signal(SIGTERM);
    const weir::exit_status status = co_await one.ended();
    EXPECT_TRUE(status.success()) << status.text();
    const contents kept = co_await read_store(at);
    for (const std::int64_t id : callers.acknowledged) {
        const auto found = kept.tasks.find(id);
        if (found == kept.tasks.end()) {
            ADD_FAILURE() << "lost: " << task_id(id).text();
            continue;
        }
        EXPECT_EQ(found->second.state, task_state::completed) << found->second.error;
        EXPECT_EQ(found->second.failures, 0u);
    }
}

TEST(ServiceTroubleInProcess, ADiskThatTakesNothingMeansRefusalsUntilItDoes) {
    weir::run(disk_takes_nothing());
}

// Seconds of processor time that it has used, and bytes of its memory that are its own.
struct usage {
    double seconds = 0;
    double bytes = 0;
};
usage used_by(const node& target) {
    usage all;
    std::ifstream stat("/proc/" + std::to_string(target.pid()) + "/stat");
    const std::string text((std::istreambuf_iterator<char>(stat)), {});
    std::istringstream fields(text.substr(text.rfind(')') + 2));
    std::string skipped;
    for (int i = 0; i < 11; ++i) {
        fields >> skipped;
    }
    double user = 0;
    double system = 0;
    fields >> user >> system;
    all.seconds = (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
    std::ifstream statm("/proc/" + std::to_string(target.pid()) + "/statm");
    double pages = 0;
    statm >> skipped >> pages;
    all.bytes = pages * static_cast<double>(sysconf(_SC_PAGESIZE));
    return all;
}

class audience {
public:
    void join(const std::string& url, bool reads) {
        running_.push_back(weir::spawn(attend("ws" + url.substr(4) + "/events?topic=all", reads)));
    }
    task<> leave() {
        for (weir::handle<>& each : running_) {
            each.cancel();
        }
        for (weir::handle<>& each : running_) {
            (void)co_await weir::settle(each.wait());
        }
    }
    std::size_t here = 0;
    std::size_t heard = 0;

private:
    task<> attend(std::string url, bool reads) {
        auto listen = [this, reads](ws::connection& peer) -> task<> {
            ++here;
            if (!reads) {
                co_await weir::sleep_forever();
            }
            while (auto message = co_await peer.receive()) {
                ++heard;
            }
        };
        ws::connect_options options;
        options.connection.inbox_messages = 1;
        co_await ws::with_connection(url, listen, options);
    }
    std::vector<weir::handle<>> running_;
};

task<usage> cost_of_submits(clients& callers, const node& at, std::size_t count) {
    const usage before = used_by(at);
    const std::size_t known = callers.acknowledged.size();
    while (callers.acknowledged.size() < known + count) {
        co_await weir::sleep(5ms);
    }
    usage cost = used_by(at);
    cost.seconds -= before.seconds;
    cost.bytes -= before.bytes;
    co_return cost;
}

// The cost is measured as processor time of the service, since other processes use this machine,
// too.
task<> many_dashboards() {
    const place at;
    node one(at, 0, {});
    const bool is_there = co_await one.is_there();
    EXPECT_TRUE(is_there);
    clients callers(0);
    callers.target = [&] { return one.url(); };
    callers.start(8);
    constexpr std::size_t submits = 1500;
    co_await cost_of_submits(callers, one, submits / 2);
    const usage alone = co_await cost_of_submits(callers, one, submits);
    audience all;
    constexpr std::size_t dashboards = 200;
    for (std::size_t i = 0; i < dashboards; ++i) {
        all.join(one.url(), i % 20 != 0);  // ten are frozen
    }
    while (all.here < dashboards) {
        co_await weir::sleep(5ms);
    }
    const usage watched = co_await cost_of_submits(callers, one, submits);
    EXPECT_GT(all.heard, dashboards);
    EXPECT_LT(watched.seconds, 3 * alone.seconds + 0.3);
    EXPECT_LT(watched.bytes, 64e6);
    std::printf("processor time of %zu submits: %.2f s alone, %.2f s watched by %zu\n", submits,
                alone.seconds, watched.seconds, dashboards);
    co_await all.leave();
    co_await callers.stop();
    co_await until_idle(callers, one);
    co_await finish(at, one, callers, {});
}

TEST(ServiceTroubleInProcess, DashboardsThatDoNotReadSlowNobody) {
    weir::run(many_dashboards());
}

}  // namespace
