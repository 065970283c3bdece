// SPDX-License-Identifier: MIT
//
// Dashboards: COUNT WebSocket clients that hear of everything, of which FROZEN never read. Says
// 'ready' when all are connected, and how many messages came each second.
//
//   program PORT COUNT FROZEN
#include <weir/run.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>
#include <weir/ws/client.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;

int here = 0;
long heard = 0;

weir::task<> attend(std::string url, bool reads) {
    auto listen = [reads](weir::ws::connection& peer) -> weir::task<> {
        ++here;
        if (!reads) {
            co_await weir::sleep_forever();
        }
        while (auto received = co_await peer.receive()) {
            ++heard;
        }
    };
    weir::ws::connect_options options;
    options.connection.inbox_messages = 1;
    co_await weir::ws::with_connection(url, listen, options);
}

weir::task<> sit(std::string port, int count, int frozen) {
    std::vector<weir::handle<>> all;
    for (int i = 0; i < count; ++i) {
        const std::string url = "ws://127.0.0.1:" + port + "/events?topic=all";
        all.push_back(weir::spawn(attend(url, i >= frozen)));
        co_await weir::sleep(1ms);
    }
    while (here < count) {
        co_await weir::sleep(10ms);
    }
    std::puts("ready");
    for (;;) {
        std::fflush(stdout);
        const long before = heard;
        co_await weir::sleep(1s);
        std::printf("%ld\n", heard - before);
    }
}

}  // namespace

int main(int count, char** words) {
    if (count != 4) {
        return 64;
    }
    return weir::run_main(sit(words[1], std::atoi(words[2]), std::atoi(words[3])));
}
