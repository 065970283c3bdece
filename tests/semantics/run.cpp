// SPDX-License-Identifier: MIT
// RN: run.

#include <support/loops.hpp>

#include <weir/base/closable.hpp>
#include <weir/testing/testing.hpp>

#include <csignal>

namespace {

using namespace std::chrono_literals;
using weir_test::report_log;
using weir_test::simulated;

weir::task<int> five() {
    co_await weir::sleep(1s);
    co_return 5;
}

TEST(Semantics, RN_01) {
    EXPECT_EQ(weir::run(five(), simulated()), 5);
    auto fails = []() -> weir::task<> {
        throw std::runtime_error("main failed");
        co_return;
    };
    EXPECT_THROW(weir::run(fails(), simulated()), std::runtime_error);
    auto moves = []() -> weir::task<std::unique_ptr<int>> { co_return std::make_unique<int>(3); };
    EXPECT_EQ(*weir::run(moves(), simulated()), 3);
    int object = 0;
    auto refers = [&]() -> weir::task<int&> { co_return object; };
    EXPECT_EQ(&weir::run(refers(), simulated()), &object);
    bool ran = false;
    auto token = std::make_shared<int>(0);
    auto rejected = [&ran](std::shared_ptr<int>) -> weir::task<> {
        ran = true;
        co_return;
    };
    auto nests = [&]() -> weir::task<> {
        EXPECT_THROW(weir::run(rejected(token)), weir::loop_error);
        EXPECT_EQ(token.use_count(), 1);
        co_return;
    };
    weir::run(nests(), simulated());
    EXPECT_FALSE(ran);
    weir::loop loop(simulated());
    EXPECT_EQ(loop.run(five()), 5);
    EXPECT_TRUE(loop.is_closed());
    loop.close();
    loop.shutdown();
    EXPECT_THROW(loop.run(five()), weir::loop_error);
}

TEST(Semantics, RN_02) {
    report_log log;
    std::vector<std::string> events;
    auto leftover = [&](bool fails) -> weir::task<> {
        auto wait = []() -> weir::task<> { co_await weir::sleep_forever(); };
        auto clean_up = [&, fails]() -> weir::task<> {
            co_await weir::sleep(1s);
            events.push_back(fails ? "failing" : "cleaned");
            if (fails) {
                throw std::runtime_error("clean-up failed");
            }
        };
        co_await weir::finally(wait(), clean_up);
    };
    auto main = [&](bool main_fails) -> weir::task<int> {
        weir::spawn(leftover(false));
        weir::spawn(leftover(true));
        co_await weir::yield();
        if (main_fails) {
            throw std::logic_error("main");
        }
        co_return 5;
    };
    auto options = simulated();
    options.on_report = log.handler();
    EXPECT_EQ(weir::run(main(false), std::move(options)), 5);
    EXPECT_EQ(events, (std::vector<std::string>{"cleaned", "failing"}));
    ASSERT_EQ(log.reports.size(), 1u) << log.text();
    EXPECT_EQ(log.reports[0].kind, weir::report_kind::unretrieved_error);
    EXPECT_TRUE(weir_test::contains(log.reports[0].message, "clean-up failed"));
    log.reports.clear();
    auto again = simulated();
    again.on_report = log.handler();
    EXPECT_THROW(weir::run(main(true), std::move(again)), std::logic_error);
    EXPECT_EQ(events.size(), 4u);
    EXPECT_EQ(log.reports.size(), 1u);
}

// Something that wants to be closed by the loop, as an abandoned generator does.
struct late_closer final : weir::detail::closable {
    std::vector<std::string>& events;
    explicit late_closer(std::vector<std::string>& into) : events(into) {}
    void close_at_shutdown() noexcept override {
        auto closing = [](std::vector<std::string>& into) -> weir::task<> {
            into.push_back("generator begins to close");
            co_await weir::sleep(1s);
            into.push_back("generator closed");
        };
        weir::spawn(closing(events));
    }
};

TEST(Semantics, RN_03) {
    for (const bool main_fails : {false, true}) {
        std::vector<std::string> events;
        late_closer generator(events);
        weir::loop loop(simulated());
        auto leftover = [&]() -> weir::task<> {
            auto wait = []() -> weir::task<> { co_await weir::sleep_forever(); };
            auto clean_up = [&]() -> weir::task<> {
                co_await weir::sleep(1s);
                events.push_back("task ended");
            };
            co_await weir::finally(wait(), clean_up);
        };
        auto main = [&]() -> weir::task<> {
            generator.register_at(loop);
            weir::spawn(leftover());
            co_await weir::yield();
            if (main_fails) {
                throw std::runtime_error("main");
            }
        };
        loop.post([] {});
        if (main_fails) {
            EXPECT_THROW(loop.run(main()), std::runtime_error);
        } else {
            loop.run(main());
        }
        EXPECT_EQ(events, (std::vector<std::string>{"task ended", "generator begins to close",
                                                    "generator closed"}));
        EXPECT_TRUE(loop.is_closed());
    }
}

TEST(Semantics, RN_04) {
    // Shells start programs in the background with SIGINT ignored, and run() respects that.
    std::signal(SIGINT, SIG_DFL);
    bool cleaned = false;
    auto clean_up = [&]() -> weir::task<> {
        cleaned = true;
        co_return;
    };
    auto interrupt = [] { weir::loop::current().call_later(5ms, [] { std::raise(SIGINT); }); };
    auto waits = [&]() -> weir::task<> {
        interrupt();
        auto wait = []() -> weir::task<> { co_await weir::sleep_forever(); };
        co_await weir::finally(wait(), clean_up);
    };
    try {
        weir::run(waits());
        ADD_FAILURE() << "run returned";
    } catch (const weir::interrupted& stop) {
        EXPECT_EQ(stop.signal(), SIGINT);
        EXPECT_STREQ(stop.what(), "interrupted by SIGINT");
    }
    EXPECT_TRUE(cleaned);
    auto spins = [&]() -> weir::task<> {
        interrupt();
        for (;;) {
            co_await weir::yield();
        }
    };
    EXPECT_THROW(weir::run(spins()), weir::interrupted);
    // One that is answered: main ends well, and so does run.
    auto answers = [&]() -> weir::task<int> {
        interrupt();
        auto wait = []() -> weir::task<> { co_await weir::sleep_forever(); };
        const weir::outcome<void> ended = co_await weir::intercept(wait());
        EXPECT_FALSE(ended.has_value());
        co_return 3;
    };
    EXPECT_EQ(weir::run(answers()), 3);
    struct sigaction present{};
    ASSERT_EQ(::sigaction(SIGINT, nullptr, &present), 0);
    EXPECT_EQ(present.sa_handler, SIG_DFL) << "restored";
}

TEST(Semantics, RN_05) {
    auto main = []() -> weir::task<> {
        const weir::any_handle self = weir::current_task();
        weir::loop::current().call_later(5ms, [self] {
            self.cancel("somebody else");
            std::raise(SIGINT);
        });
        auto wait = []() -> weir::task<> { co_await weir::sleep_forever(); };
        auto slow_clean_up = []() -> weir::task<> { co_await weir::sleep(20ms); };
        co_await weir::finally(wait(), slow_clean_up);
    };
    EXPECT_THROW(weir::run(main()), weir::cancelled);
}

}  // namespace
