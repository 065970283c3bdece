// SPDX-License-Identifier: MIT
#include <weir/base/closable.hpp>
#include <weir/testing/testing.hpp>

#include <string>

namespace {

struct open_thing final : weir::detail::closable {
    open_thing(std::string& to, char called) : log(to), name(called) {}
    void close_at_shutdown() noexcept override {
        EXPECT_EQ(home, nullptr);
        log += name;
    }
    std::string& log;
    char name;
};

TEST(Closable, IsClosedBeforeItsLoopLastInFirstOut) {
    std::string log;
    open_thing first(log, '1');
    open_thing second(log, '2');
    weir::loop home({.driver = weir::driver_kind::simulated});
    first.register_at(home);
    second.register_at(home);
    EXPECT_EQ(first.home, &home);
    home.close();
    EXPECT_EQ(log, "21");
    EXPECT_EQ(first.home, nullptr);
}

TEST(Closable, IsLeftAloneWhenUnregisteredOrDestroyed) {
    std::string log;
    open_thing kept(log, 'k');
    weir::loop home({.driver = weir::driver_kind::simulated});
    kept.register_at(home);
    {
        open_thing gone(log, 'g');
        gone.register_at(home);
    }
    kept.unregister();
    kept.unregister();
    home.close();
    EXPECT_EQ(log, "");
}

}  // namespace
