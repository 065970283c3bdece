// SPDX-License-Identifier: MIT
// The task tree, the names in it, and the reports of debug mode. Compiled alone, not united with
// others (tests/unite.cmake): the namespace that this adds would be part of the names.

#include "base/source_place.hpp"
#include <support/loops.hpp>

#include <weir/testing/testing.hpp>

#include <source_location>

namespace naming {

namespace {

weir::task<std::string> where(std::source_location here = std::source_location::current()) {
    co_return weir::detail::plain_function_name(here.function_name());
}
weir::task<std::string> plain(int, const std::string&) {
    co_return co_await where();
}
template <class T>
weir::task<std::string> templated(T, int (*)(int)) {
    co_return co_await where();
}
template <class T, int N>
struct box {
    weir::task<std::string> member(T (&)[N]) const { co_return co_await where(); }
    static weir::task<std::string> of_class() noexcept { co_return co_await where(); }
    weir::task<std::string> operator()(int) { co_return co_await where(); }
    weir::task<std::string> operator<(int) { co_return co_await where(); }
};

}  // namespace

WEIR_TEST(Diagnosis, FunctionNamesAsPeopleWriteThem) {
    const std::string one = co_await plain(1, "x");
    EXPECT_EQ(one, "naming::plain");
    const std::string two = co_await templated(std::vector<int>{}, nullptr);
    EXPECT_EQ(two, "naming::templated");
    int numbers[3] = {};
    box<int, 3> some;
    const std::string three = co_await some.member(numbers);
    EXPECT_EQ(three, "naming::box<int, 3>::member");
    const std::string four = co_await some.of_class();
    EXPECT_EQ(four, "naming::box<int, 3>::of_class");
    const std::string five = co_await some(1);
    EXPECT_EQ(five, "naming::box<int, 3>::operator()");
    const std::string six = co_await (some < 1);
    EXPECT_EQ(six, "naming::box<int, 3>::operator<");
    auto lambda = [](int, std::string) -> weir::task<std::string> { co_return co_await where(); };
    const std::string seven = co_await lambda(1, "");
    EXPECT_TRUE(seven.ends_with("::<lambda>")) << seven;
    EXPECT_FALSE(seven.find('(') != std::string::npos) << seven;
    auto generic = [](auto) -> weir::task<std::string> { co_return co_await where(); };
    const std::string eight = co_await generic(1);
    EXPECT_TRUE(eight.ends_with("::<lambda>")) << eight;
}

}  // namespace naming

TEST(Diagnosis, NamesFromBothCompilers) {
    const auto plain = weir::detail::plain_function_name;
    EXPECT_EQ(plain("void ns::f(ns::f(int)::_ZN2ns1fEi.Frame*)"), "ns::f");
    EXPECT_EQ(plain("weir::task<int> ns::f(int, std::string)"), "ns::f");
    EXPECT_EQ(plain("weir::task<X> ns::g(X) [with X = std::vector<int>]"), "ns::g");
    EXPECT_EQ(plain("auto main()::(anonymous class)::operator()(int)::(anonymous "
                    "class)::operator()() const"),
              "main::<lambda>::<lambda>");
    EXPECT_EQ(plain("main()::<lambda(auto:11)>::<lambda()>"), "main::<lambda>::<lambda>");
    EXPECT_EQ(
        plain("static weir::task<Y> ns::(anonymous namespace)::S::sm(Y, int (*)(int)) [Y = int]"),
        "ns::S::sm");
    EXPECT_EQ(plain("main"), "main");
    EXPECT_EQ(plain(""), "");
}

namespace {

using namespace std::chrono_literals;
using weir_test::contains;
using weir_test::report_log;
using weir_test::simulated;

weir::task<> fetch_page() {
    co_await weir::sleep(1h);
}
weir::task<> crawl() {
    co_await fetch_page();
}
weir::task<> serve() {
    co_await weir::with_group([&](weir::task_group& group) -> weir::task<> {
        group.spawn(crawl(), {.name = "crawler"});
        group.spawn(fetch_page(), {.name = "fetcher"});
        co_return;
    });
}

WEIR_TEST(Diagnosis, TheTreeOfTasks) {
    weir::handle<> server = weir::spawn(serve(), {.name = "server"});
    weir::event never;
    auto waits = [&]() -> weir::task<> { co_await never.wait(); };
    weir::handle<> waiter = weir::spawn(waits(), {.name = "waiter"});
    EXPECT_TRUE(contains(weir::dump_tasks(), "server (ready)")) << weir::dump_tasks();
    co_await weir::sleep(1s);
    const std::string tree = weir::dump_tasks();
    EXPECT_TRUE(contains(tree, "(running)")) << tree;
    EXPECT_TRUE(contains(tree, "serve at ")) << tree;
    EXPECT_TRUE(contains(tree, "[group]")) << tree;
    EXPECT_TRUE(contains(tree, "  + crawler (waits: sleep)\n")) << tree;
    EXPECT_TRUE(contains(tree, "  +     crawl at ")) << tree;
    EXPECT_TRUE(contains(tree, "  +     fetch_page at ")) << tree;
    EXPECT_TRUE(contains(tree, "task_tree_test.cpp:")) << tree;
    EXPECT_FALSE(contains(tree, "weir::detail")) << tree;
    EXPECT_LT(tree.find("crawl at"), tree.find("fetch_page at")) << "outermost first\n" << tree;
    EXPECT_EQ(weir::all_tasks().size(), 5u);
    server.cancel();
    waiter.cancel();
    EXPECT_TRUE(contains(weir::dump_tasks(), "waiter (stopping)")) << weir::dump_tasks();
    co_await server.wait();
    co_await waiter.wait();
}

WEIR_TEST(Diagnosis, GroupsOfOneTaskComeOutermostFirst) {
    auto inner = [](weir::task_group& group) -> weir::task<> {
        group.spawn(fetch_page(), {.name = "inner"});
        co_await weir::sleep(1h);
    };
    auto outer = [&](weir::task_group& group) -> weir::task<> {
        group.spawn(fetch_page(), {.name = "outer"});
        co_await weir::with_group(inner);
    };
    auto work = [&]() -> weir::task<> { co_await weir::with_group(outer); };
    weir::handle<> worker = weir::spawn(work);
    co_await weir::sleep(1s);
    std::string names;
    for (const weir::any_handle& each : weir::all_tasks()) {
        names.append(each.name()).append(" ");
    }
    EXPECT_TRUE(contains(names, "outer inner ")) << names;
    worker.cancel();
    co_await worker.wait();
}

weir::task<> nest(int depth) {
    co_await weir::with_group([depth](weir::task_group& group) -> weir::task<> {
        if (depth > 0) {
            group.spawn(nest(depth - 1));
        } else {
            co_await weir::sleep(1h);
        }
    });
}

WEIR_TEST(Diagnosis, ADeepTree) {
    weir::handle<> root = weir::spawn(nest(5000));
    co_await weir::sleep(1s);
    EXPECT_EQ(weir::all_tasks().size(), 5002u);
    EXPECT_TRUE(contains(weir::dump_tasks(), "nest at "));
    root.cancel();
    co_await root.wait();
}

weir::task<int> forgotten(int) {
    co_return 1;
}

TEST(Diagnosis, NeverAwaited) {
    for (const bool debug : {false, true}) {
        report_log log;
        auto options = simulated();
        options.debug = debug;
        options.on_report = log.handler();
        auto main = []() -> weir::task<> {
            (void)forgotten(1);
            weir::task<int> on_purpose = forgotten(2);
            on_purpose.discard();
            co_return;
        };
        weir::run(main(), std::move(options));
        ASSERT_EQ(log.reports.size(), debug ? 1u : 0u) << log.text();
        if (debug) {
            EXPECT_EQ(log.reports[0].kind, weir::report_kind::never_awaited);
            EXPECT_TRUE(contains(log.reports[0].message, "forgotten (")) << log.text();
            EXPECT_TRUE(contains(log.reports[0].message, "task_tree_test.cpp:")) << log.text();
            EXPECT_TRUE(contains(log.reports[0].message, "awaited or spawned")) << log.text();
        }
    }
}

TEST(Diagnosis, DeadlockIsToldWithTheTree) {
    report_log log;
    auto options = simulated();
    options.debug = true;
    options.on_report = log.handler();
    weir::event never;
    auto stuck = [&]() -> weir::task<> { co_await never.wait(); };
    try {
        weir::run(stuck(), std::move(options));
        ADD_FAILURE() << "it ended";
    } catch (const weir::deadlock& error) {
        EXPECT_TRUE(contains(error.what(), "<lambda> at ")) << error.what();
    }
    EXPECT_EQ(log.count(weir::report_kind::deadlock), 1u) << log.text();
}

}  // namespace
