// SPDX-License-Identifier: MIT
// A rate limit that three processes share through Redis: together they stay within it
//
// The program starts a Redis of its own, and then itself three times. With the address of a Redis
// as its argument it is one of the three: it makes calls as fast as the limit lets it.
#include <weir/db/redis/token_bucket.hpp>
#include <weir/gather.hpp>
#include <weir/io/process.hpp>
#include <weir/weir.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

using namespace std::chrono_literals;
namespace redis = weir::redis;

constexpr double rate = 100;  // calls a second, of all three together
constexpr double burst = 10;

// Prints when each call was let through, by the clock of Redis, in microseconds.
weir::task<> make_calls(std::string host) {
    redis::client store({.host = host});
    redis::token_bucket limit(store,
                              {.key = "limit:api", .rate = rate, .burst = burst, .timeout = 5s});
    const auto end = weir::now() + 500ms;
    while (weir::now() < end) {
        auto in = co_await limit.admit();
        if (in) {
            std::cout << in.pass().at.time_since_epoch().count() << '\n';
        }
    }
}

// In every interval at most burst + rate * its length?
bool stays_within(const std::vector<long long>& times) {
    for (std::size_t first = 0; first < times.size(); ++first) {
        for (std::size_t last = first; last < times.size(); ++last) {
            const double seconds = static_cast<double>(times[last] - times[first]) / 1e6;
            if (static_cast<double>(last - first + 1) > burst + rate * seconds + 1e-6) {
                return false;
            }
        }
    }
    return true;
}

weir::task<> scene() {
    std::string folder = (std::filesystem::temp_directory_path() / "weir-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) {
        throw std::runtime_error("no temporary folder");
    }
    const std::string socket = folder + "/redis.sock";
    weir::process server(
        weir::command_line("redis-server", "--port", "0", "--unixsocket", socket, "--save", ""),
        {.out = weir::stdio::null});
    while (!std::filesystem::exists(socket)) {
        co_await weir::sleep(5ms);
    }

    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    std::vector<weir::task<weir::command_result>> processes;
    for (int i = 0; i < 3; ++i) {
        processes.push_back(weir::run_command({self, "unix:" + socket}));
    }
    const auto ended = co_await weir::gather(std::move(processes));
    std::vector<long long> times;
    for (const weir::command_result& each : ended) {
        std::istringstream lines(each.out);
        bool called = false;
        for (long long time = 0; lines >> time;) {
            times.push_back(time);
            called = true;
        }
        std::cout << (called ? "a process made calls\n" : "a process made none: " + each.err);
    }
    std::sort(times.begin(), times.end());
    std::cout << "within the limit together: " << (stays_within(times) ? "yes" : "no") << '\n';
    std::cout << "used what it allows: " << (times.size() > 30 ? "yes" : "no") << '\n';

    co_await server.terminate();
    std::filesystem::remove_all(folder);
}

int main(int count, char** arguments) {
    return weir::run_main(count > 1 ? make_calls(arguments[1]) : scene());
}
