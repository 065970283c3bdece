// SPDX-License-Identifier: MIT
// What combinators do with a handle that the caller keeps.

#include <weir/testing/testing.hpp>

#include <string>

namespace {

using namespace std::chrono_literals;

weir::task<std::string> long_text() {
    co_await weir::yield();
    co_return std::string(100, 'x');
}

WEIR_TEST(Combinators, AHandleThatIsKeptKeepsItsValue) {
    weir::handle<std::string> text = weir::spawn(long_text());
    const std::string first = co_await weir::timeout(1s, text);
    EXPECT_EQ(first.size(), 100u);
    const std::string& second = co_await text;
    EXPECT_EQ(second.size(), 100u);
    const std::string third = co_await weir::timeout(1s, std::move(text));
    EXPECT_EQ(third.size(), 100u);
}

WEIR_TEST(Combinators, AWaitCanBeLimited) {
    weir::handle<> forever = weir::spawn([]() -> weir::task<> { co_await weir::sleep_forever(); });
    WEIR_EXPECT_THROW(weir::timeout(1s, forever.wait()), weir::timed_out);
    EXPECT_FALSE(forever.done());
    forever.cancel();
    co_await forever.wait();
    EXPECT_TRUE(forever.cancelled());
}

}  // namespace
