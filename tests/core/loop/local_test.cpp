// SPDX-License-Identifier: MIT
#include <weir/local.hpp>
#include <weir/testing/testing.hpp>

#include <string>

namespace {

weir::local<std::string> request_id{"none"};

weir::task<std::string> present() {
    co_return request_id.get();
}

WEIR_TEST(Local, HasADefaultUntilItIsSet) {
    EXPECT_EQ(request_id.get(), "none");
    request_id.set("r-1");
    EXPECT_EQ(request_id.get(), "r-1");
    request_id.reset();
    EXPECT_EQ(request_id.get(), "none");
    co_return;
}

WEIR_TEST(Local, ASpawnedTaskHasASnapshot) {
    request_id.set("r-1");
    auto child = weir::spawn([]() -> weir::task<std::string> {
        co_await weir::yield();
        const std::string seen = request_id.get();
        request_id.set("child");
        co_return seen;
    });
    request_id.set("r-2");
    const std::string seen = co_await child;
    EXPECT_EQ(seen, "r-1");
    EXPECT_EQ(request_id.get(), "r-2");
}

WEIR_TEST(Local, AnAwaitedCoroutineSharesItsCallersValue) {
    request_id.set("r-3");
    const std::string seen = co_await present();
    EXPECT_EQ(seen, "r-3");
}

WEIR_TEST(Local, AScopedValueIsRestored) {
    {
        const weir::local<std::string>::scoped outer(request_id, "outer");
        {
            const weir::local<std::string>::scoped inner(request_id, "inner");
            EXPECT_EQ(request_id.get(), "inner");
        }
        EXPECT_EQ(request_id.get(), "outer");
    }
    EXPECT_EQ(request_id.get(), "none");
    co_return;
}

WEIR_TEST(Local, TasksMayShareAContext) {
    request_id.set("r-4");
    const weir::context shared = weir::context::copy_of_current();
    const weir::spawn_options options{.context = &shared};
    auto setting = weir::spawn(options, []() -> weir::task<> {
        request_id.set("shared");
        co_return;
    });
    co_await setting;
    auto reading = weir::spawn(options, &present);
    const std::string seen = co_await reading;
    EXPECT_EQ(seen, "shared");
    EXPECT_EQ(request_id.get(), "r-4");
}

TEST(Local, CannotBeSetOutsideALoop) {
    EXPECT_EQ(request_id.get(), "none");
    EXPECT_THROW(request_id.set("x"), weir::loop_error);
}

}  // namespace
