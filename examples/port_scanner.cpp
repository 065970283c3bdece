// SPDX-License-Identifier: MIT
// Port scanner: hundreds of connection attempts, at most 50 at a time, each with a timeout
#include <weir/io/listener.hpp>
#include <weir/io/tcp.hpp>
#include <weir/weir.hpp>

#include <algorithm>
#include <iostream>
#include <vector>

using namespace std::chrono_literals;

weir::task<bool> is_open(std::uint16_t port, weir::semaphore& slots) {
    auto permit = co_await slots.acquire();
    try {
        co_await weir::tcp::connect("127.0.0.1", port, {.timeout = 1s});
        co_return true;
    } catch (const weir::io_error&) {
        co_return false;  // refused
    } catch (const weir::timed_out&) {
        co_return false;
    }
}

weir::task<std::vector<std::uint16_t>> scan(std::vector<std::uint16_t> ports) {
    weir::semaphore slots(50);
    std::vector<weir::task<bool>> attempts;
    for (const std::uint16_t port : ports) {
        attempts.push_back(is_open(port, slots));
    }
    const std::vector<bool> results = co_await weir::gather(std::move(attempts));
    std::vector<std::uint16_t> open;
    for (std::size_t index = 0; index < ports.size(); ++index) {
        if (results[index]) {
            open.push_back(ports[index]);
        }
    }
    co_return open;
}

weir::task<> run() {
    // Something to find: three servers on ports that the system chooses, and three that have gone
    // again.
    std::vector<weir::io::listener> servers;
    std::vector<std::uint16_t> ports;
    for (int count = 0; count < 6; ++count) {
        servers.push_back(weir::io::listen(weir::io::address::loopback(0)));
        ports.push_back(servers.back().local_address().port());
    }
    servers.resize(3);
    for (std::uint16_t port = 1; port <= 500; ++port) {
        ports.push_back(port);
    }
    const std::vector<std::uint16_t> open = co_await scan(ports);
    const auto is_ours = [&](std::uint16_t port) {
        return std::any_of(servers.begin(), servers.end(), [&](const weir::io::listener& each) {
            return each.local_address().port() == port;
        });
    };
    std::cout << "Scanned " << ports.size()
              << " ports: " << std::count_if(open.begin(), open.end(), is_ours)
              << " of our 3 servers found\n";
}

int main() {
    weir::run(run());
}
