// SPDX-License-Identifier: MIT
// SG: signals.

#include <support/loops.hpp>

#include <weir/testing/testing.hpp>

#include <csignal>
#include <thread>

namespace {

using namespace std::chrono_literals;

TEST(Semantics, SG_01) {
    weir::loop loop;
    const std::thread::id thread = std::this_thread::get_id();
    std::vector<int> seen;
    const int argument = 17;
    loop.on_signal(SIGUSR1, [&, argument] {
        EXPECT_EQ(std::this_thread::get_id(), thread);
        EXPECT_FALSE(weir::current_task().valid());
        seen.push_back(argument);
        loop.stop();
    });
    // The loop sleeps without timers: the signal, sent by another thread, must wake it.
    std::thread sender([] {
        std::this_thread::sleep_for(20ms);
        ::kill(::getpid(), SIGUSR1);
    });
    loop.run_forever();
    sender.join();
    EXPECT_EQ(seen, std::vector{17});
    // Not called in the handler itself.
    std::raise(SIGUSR1);
    EXPECT_EQ(seen.size(), 1u);
    loop.run_forever();
    EXPECT_EQ(seen.size(), 2u);
    // A callback that throws is reported like any other.
    weir_test::report_log log;
    loop.on_report(log.handler());
    loop.on_signal(SIGUSR1, [] { throw std::runtime_error("in a signal callback"); });
    std::raise(SIGUSR1);
    loop.call_later(1ms, [&] { loop.stop(); });
    loop.run_forever();
    EXPECT_EQ(log.count(weir::report_kind::callback_error), 1u);
}

bool is_default(int number) {
    struct sigaction present{};
    EXPECT_EQ(::sigaction(number, nullptr, &present), 0);
    return present.sa_handler == SIG_DFL;
}

TEST(Semantics, SG_02) {
    weir::loop loop;
    std::vector<int> seen;
    loop.on_signal(SIGUSR1, [&] { seen.push_back(1); });
    loop.on_signal(SIGUSR1, [&] { seen.push_back(2); });
    loop.on_signal(SIGUSR2, [&] { seen.push_back(3); });
    EXPECT_FALSE(is_default(SIGUSR1));
    std::raise(SIGUSR1);
    loop.stop();
    loop.run_forever();
    EXPECT_EQ(seen, std::vector{2});
    EXPECT_TRUE(loop.remove_signal(SIGUSR1));
    EXPECT_TRUE(is_default(SIGUSR1));
    EXPECT_FALSE(loop.remove_signal(SIGUSR1));
    EXPECT_FALSE(is_default(SIGUSR2));
    // Another loop cannot have it meanwhile.
    weir::loop other;
    EXPECT_THROW(other.on_signal(SIGUSR2, [] {}), weir::invalid_state);
    loop.close();
    EXPECT_TRUE(is_default(SIGUSR2));
    other.on_signal(SIGUSR2, [] {});
    EXPECT_FALSE(is_default(SIGUSR2));
    other.close();
    EXPECT_TRUE(is_default(SIGUSR2));
}

TEST(Semantics, SG_03) {
    weir::loop loop;
    for (const int number : {-1, 0, 65, 1000}) {
        EXPECT_THROW(loop.on_signal(number, [] {}), weir::invalid_argument) << number;
    }
    // Refused by the system, 32 because the C library reserves it: no registration is left.
    for (const int number : {SIGKILL, SIGSTOP, 32}) {
        EXPECT_THROW(loop.on_signal(number, [] {}), weir::invalid_argument) << number;
        EXPECT_FALSE(loop.remove_signal(number));
        EXPECT_THROW(loop.on_signal(number, [] {}), weir::invalid_argument) << number;
    }
    EXPECT_THROW(loop.on_signal(SIGUSR1, {}), weir::invalid_argument);
    EXPECT_TRUE(is_default(SIGUSR1));
    weir::loop virtual_time(weir_test::simulated());
    EXPECT_THROW(virtual_time.on_signal(SIGUSR1, [] {}), weir::invalid_state);
    // The loop is still fine.
    bool ran = false;
    loop.on_signal(SIGUSR1, [&] { ran = true; });
    std::raise(SIGUSR1);
    loop.stop();
    loop.run_forever();
    EXPECT_TRUE(ran);
}

TEST(Semantics, SG_04) {
    weir::loop loop;
    int called = 0;
    loop.on_signal(SIGUSR1, [&] { ++called; });
    std::raise(SIGUSR1);
    EXPECT_TRUE(loop.remove_signal(SIGUSR1));  // delivered, not yet seen by the loop
    loop.stop();
    loop.run_forever();
    EXPECT_EQ(called, 0);
    // Seen by the loop, in the ready queue behind the callback that removes it.
    loop.on_signal(SIGUSR1, [&] { ++called; });
    loop.on_signal(SIGUSR2, [&] { ++called; });
    auto remover = [&] { EXPECT_TRUE(loop.remove_signal(SIGUSR2)); };
    loop.on_signal(SIGUSR1, remover);
    std::raise(SIGUSR1);
    std::raise(SIGUSR2);
    loop.stop();
    loop.run_forever();
    EXPECT_EQ(called, 0);
}

}  // namespace
