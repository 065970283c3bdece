// SPDX-License-Identifier: MIT
// Guest mode: tasks inside a Boost.Asio io_context, on its thread, next to its own handlers.

#include <weir/weir.hpp>

#include <boost/asio.hpp>

#include <unistd.h>

#include <cstdio>

namespace asio = boost::asio;
using namespace std::chrono_literals;

// Polls a Weir loop whenever its descriptor is readable or its next deadline has come.
class weir_guest {
public:
    weir_guest(asio::io_context& host, weir::loop& guest)
        : loop_(guest), descriptor_(host, ::dup(guest.fd())), timer_(host) {}

    // Call it after starting something on the loop from outside, too.
    void poll() {
        while (loop_.poll()) {
        }
        if (is_stopped_) {
            return;
        }
        if (!is_watching_) {
            is_watching_ = true;
            descriptor_.async_wait(asio::posix::stream_descriptor::wait_read,
                                   [this](const boost::system::error_code& error) {
                                       is_watching_ = false;
                                       if (!error) {
                                           poll();
                                       }
                                   });
        }
        if (const auto deadline = loop_.next_deadline()) {
            const auto now = loop_.now();
            timer_.expires_after(std::max(*deadline, now) - now);
            timer_.async_wait([this](const boost::system::error_code& error) {
                if (!error) {
                    poll();
                }
            });
        } else {
            timer_.cancel();
        }
    }
    void stop() {
        is_stopped_ = true;
        descriptor_.cancel();
        timer_.cancel();
    }

private:
    weir::loop& loop_;
    asio::posix::stream_descriptor descriptor_;
    asio::steady_timer timer_;
    bool is_watching_ = false;
    bool is_stopped_ = false;
};

weir::task<> count(const char* name, int times) {
    for (int number = 1; number <= times; ++number) {
        co_await weir::sleep(10ms);
        std::printf("%s: %d\n", name, number);
    }
}

int main() {
    asio::io_context host;
    weir::loop loop;
    weir_guest guest(host, loop);

    auto counting = loop.spawn(count("weir", 3));
    counting.add_done_callback([&](const weir::handle<>&) {
        std::puts("weir has ended");
        guest.stop();
    });
    guest.poll();

    asio::steady_timer own(host, 1ms);
    own.async_wait([](const boost::system::error_code&) { std::puts("asio: its own timer"); });
    host.run();
}
