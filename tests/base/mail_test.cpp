// SPDX-License-Identifier: MIT
#include <weir/base/mail.hpp>
#include <weir/testing/testing.hpp>

#include <memory>
#include <thread>

namespace {

// Says on which thread it arrived, or that it never will.
struct letter final : weir::detail::mail_item {
    void arrive(weir::loop& at) noexcept override {
        arrived_at = &at;
        on = std::this_thread::get_id();
    }
    void get_lost() noexcept override { is_lost = true; }

    weir::loop* arrived_at = nullptr;
    std::thread::id on;
    bool is_lost = false;
};

TEST(Mail, ArrivesOnTheThreadOfTheLoop) {
    weir::loop home({.driver = weir::driver_kind::epoll});
    letter sent;
    std::thread sender([&] { EXPECT_TRUE(weir::detail::send_mail(home.mail(), sent)); });
    sender.join();
    EXPECT_EQ(sent.arrived_at, nullptr);
    home.stop();
    home.run_forever();
    EXPECT_EQ(sent.arrived_at, &home);
    EXPECT_EQ(sent.on, std::this_thread::get_id());
    EXPECT_FALSE(sent.is_lost);
}

TEST(Mail, IsLostWhenTheLoopClosesFirst) {
    letter sent;
    weir::loop home({.driver = weir::driver_kind::epoll});
    EXPECT_TRUE(weir::detail::send_mail(home.mail(), sent));
    home.close();
    EXPECT_TRUE(sent.is_lost);
    EXPECT_EQ(sent.arrived_at, nullptr);
}

TEST(Mail, IsRefusedByAClosedLoop) {
    letter sent;
    weir::loop home({.driver = weir::driver_kind::epoll});
    home.close();
    EXPECT_FALSE(weir::detail::send_mail(home.mail(), sent));
    EXPECT_FALSE(sent.is_lost);
}

}  // namespace
