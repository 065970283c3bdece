// SPDX-License-Identifier: MIT
// Faults at every point: all are tried, what they break is found, and where.

#include "testing/io/stream_support.hpp"

#include <weir/io/buffered_reader.hpp>
#include <weir/testing/faults.hpp>

#include <set>

namespace {

using namespace stream_tests;
using weir::io_point;
using weir::testing::explore_faults;
using weir::testing::fault_exploration;
using weir::testing::fault_kind;
using weir::testing::injected_fault;

// One exchange: a connect, an accept, two writes, reads, and a sleep.
task<> exchange(std::string* got = nullptr) {
    simulated_network net({.link = {.latency = 5ms}});
    auto listener = net.listen("server:80");
    auto serve = [&]() -> task<> {
        auto peer = co_await listener.accept();
        io::buffered_reader reader(peer);
        const auto line = co_await reader.read_line(100);
        co_await weir::sleep(10ms);
        co_await peer.write("you said " + std::string(line.value_or("nothing")));
        co_await peer.close_write();
    };
    auto ask = [&]() -> task<> {
        auto peer = co_await net.connect("server:80");
        co_await peer.write("hello\n");
        std::string answer = co_await io::read_all(peer, 100);
        if (got != nullptr) {
            *got = answer;
        }
    };
    co_await weir::gather(serve(), ask());
}

TEST(Faults, EveryPointIsTriedOnceWithEachKind) {
    std::set<std::string> seen;
    int clean_runs = 0;
    const fault_exploration found = explore_faults([&]() -> task<> {
        std::string got;
        auto body = [&]() -> task<> { co_await exchange(&got); };
        const auto how = co_await weir::settle(body());
        const auto fault = injected_fault();
        if (!fault.has_value()) {
            ++clean_runs;
            EXPECT_EQ(got, "you said hello");
        } else {
            EXPECT_TRUE(seen.insert(fault->text()).second) << fault->text() << " twice";
            if (fault->kind == fault_kind::error) {
                EXPECT_FALSE(how.has_value()) << fault->text() << " was not noticed";
            }
        }
    });
    EXPECT_FALSE(found.failed) << found.text();
    EXPECT_GE(found.points, 7u);
    EXPECT_GE(clean_runs, 4) << "the first, and one behind the last point of each kind";
    const auto has = [&](std::string_view text) {
        return std::any_of(seen.begin(), seen.end(), [&](const std::string& each) {
            return each.find(text) != std::string::npos;
        });
    };
    for (const char* const each :
         {"(connect): error", "(accept): error", "(read): error", "(write): error",
          "(read): cut short", "(write): cut short", "(sleep): cut short"}) {
        EXPECT_TRUE(has(each)) << each;
    }
}

TEST(Faults, TheBodyMayEndByTheInjectedErrorButNotByAMistake) {
    const fault_exploration fine = explore_faults([]() -> task<> { co_await exchange(); });
    EXPECT_FALSE(fine.failed) << fine.text();
    const fault_exploration wrong = explore_faults([]() -> task<> {
        try {
            co_await exchange();
        } catch (const weir::io_error&) {
            throw std::logic_error("this cannot happen");
        }
    });
    EXPECT_TRUE(wrong.failed);
    ASSERT_TRUE(wrong.fault.has_value());
    EXPECT_EQ(wrong.fault->number, 1u);
    EXPECT_NE(wrong.text().find("this cannot happen"), std::string::npos) << wrong.text();
}

TEST(Faults, ABodyThatFailsAloneIsNotBlamedOnAFault) {
    const fault_exploration found = explore_faults([]() -> task<> {
        co_await exchange();
        throw std::runtime_error("always");
    });
    EXPECT_TRUE(found.failed);
    EXPECT_FALSE(found.fault.has_value());
    EXPECT_EQ(found.runs, 1u);
}

// A reader that trusts a read to fill its buffer works until a read is short.
TEST(Faults, AShortReadThatNobodyThoughtOfIsFound) {
    const fault_exploration found = explore_faults([]() -> task<> {
        simulated_network net;
        auto [near, far] = net.pair();
        co_await near.write("0042");
        char length[4] = {};
        const std::size_t count = co_await far.read(length);
        if (count != 0) {
            EXPECT_EQ(std::string_view(length, 4), "0042");
        }
    });
    EXPECT_TRUE(found.failed);
    ASSERT_TRUE(found.fault.has_value());
    EXPECT_EQ(found.fault->kind, fault_kind::cut_short);
    EXPECT_EQ(found.fault->at, io_point::read);
}

// A waiter that no one wakes after an error is a deadlock, and found.
TEST(Faults, AnErrorThatLeavesATaskWaitingIsFound) {
    const fault_exploration found = explore_faults([]() -> task<> {
        simulated_network net;
        auto [near, far] = net.pair();
        weir::event answered;
        auto read = [&](simulated_stream& from) -> task<> {
            char buffer[8];
            try {
                (void)co_await from.read(buffer);
                answered.set();
            } catch (const weir::io_error&) {
                // forgets to tell
            }
        };
        auto reading = weir::spawn(read(far));
        auto writing = co_await near.write("x", io::as_result);
        if (writing) {
            co_await answered.wait();
        }
        co_await reading.wait();
    });
    EXPECT_TRUE(found.failed);
    EXPECT_NE(found.text().find("deadlock"), std::string::npos) << found.text();
}

TEST(Faults, OnlyTheChosenPointsAndKinds) {
    std::set<io_point> seen;
    weir::testing::fault_options options;
    options.only = {io_point::connect, io_point::timer};
    options.stops = false;
    const fault_exploration found = explore_faults(
        [&]() -> task<> {
            auto body = []() -> task<> { co_await exchange(); };
            (void)co_await weir::settle(body());
            if (const auto fault = injected_fault()) {
                seen.insert(fault->at);
                EXPECT_NE(fault->kind, fault_kind::stop);
            }
        },
        options);
    EXPECT_FALSE(found.failed) << found.text();
    EXPECT_EQ(seen, (std::set<io_point>{io_point::connect, io_point::timer}));
}

TEST(Faults, ABodyWithoutEndIsStopped) {
    weir::testing::fault_options options;
    options.most_points = 20;
    options.stops = false;
    const fault_exploration found = explore_faults(
        []() -> task<> {
            for (int i = 0; i < 100; ++i) {
                co_await weir::sleep(1s);
            }
        },
        options);
    EXPECT_TRUE(found.failed);
    EXPECT_NE(found.text().find("more than 20 points"), std::string::npos) << found.text();
}

TEST(Faults, HoldUnderSchedulesToo) {
    weir::testing::expect_no_fault_breaks([]() -> task<> { co_await exchange(); },
                                          {.schedules = 10});
}

}  // namespace
