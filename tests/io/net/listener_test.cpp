// SPDX-License-Identifier: MIT
// Listeners on loopback.

#include "support/io.hpp"

#include <weir/group.hpp>
#include <weir/io/error.hpp>
#include <weir/io/listener.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <fcntl.h>
#include <sys/socket.h>

#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using weir::io::address;

WEIR_IO_TEST(Listener, SeveralTasksAcceptAndClosingEndsThem) {
    weir::io::listener listener = weir::io::listen(address::loopback(0));
    int accepted = 0;
    int ended = 0;
    std::vector<weir::handle<void>> accepting;
    for (int task = 0; task < 3; ++task) {
        accepting.push_back(weir::spawn([&]() -> weir::task<> {
            try {
                for (;;) {
                    const weir::io::socket each = co_await listener.accept();
                    ++accepted;
                }
            } catch (const weir::io_error&) {
                ++ended;
            }
        }));
    }
    for (int number = 0; number < 10; ++number) {
        const weir::io::socket each = co_await weir::io::connect(listener.local_address());
    }
    while (accepted < 10) {
        co_await weir::sleep(1ms);
    }
    listener.close();
    for (auto& each : accepting) {
        co_await each;
    }
    EXPECT_EQ(ended, 3);
}

// Another process may have the same listener: closing ours is not to silence its own.
WEIR_IO_TEST(Listener, ClosingLeavesACopyOfItListening) {
    weir::io::listener listener = weir::io::listen(address::loopback(0));
    const address at = listener.local_address();
    weir::io::listener copy;
    copy = weir::io::listener(::fcntl(listener.fd(), F_DUPFD_CLOEXEC, 0));
    auto accepting = weir::spawn(
        [&]() -> weir::task<> { EXPECT_THROW(co_await listener.accept(), weir::io_error); });
    co_await weir::sleep(1ms);
    listener.close();
    co_await accepting;
    const weir::io::socket client = co_await weir::io::connect(at);
    weir::io::listener released(copy.release());
    EXPECT_FALSE(copy.is_open());
    const weir::io::socket server = co_await released.accept();
}

TEST(Listener, RefusesInvalidOptions) {
    const auto message = [](const address& at, weir::io::listen_options options) {
        try {
            weir::io::listen(at, options);
        } catch (const weir::invalid_argument& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    EXPECT_EQ(message(address(), {}), "listen: the address is empty");
    EXPECT_EQ(message(address::loopback(0), {.backlog = 0}),
              "listen: backlog is 0; it must be at least 1");
}

}  // namespace
