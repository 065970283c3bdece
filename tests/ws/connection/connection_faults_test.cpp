// SPDX-License-Identifier: MIT
// WebSocket with a fault at every read, write and timer: both ends return, and what arrives is what
// was sent.

#include "ws/support.hpp"

#include <weir/testing/faults.hpp>

namespace {

using namespace ws_test;

TEST(ConnectionFaults, BothEndsReturnWhateverFails) {
    const std::uint64_t runs = weir::testing::expect_no_fault_breaks(
        []() -> task<> {
            simulated_network net({.link = {.latency = 1ms}});
            auto [near, far] = net.pair();
            std::vector<std::string> came_back;
            auto talk = [&](ws::connection& peer) -> task<> {
                for (const std::string text : {"one", "two", "three"}) {
                    co_await peer.send(text);
                    const std::optional<ws::message> came = co_await peer.receive();
                    if (!came) {
                        co_return;
                    }
                    came_back.emplace_back(came->text());
                }
                co_await peer.ping();
                co_await peer.close();
            };
            auto serving = weir::spawn(ws::serve(io::any_stream(std::move(far)), echo));
            auto talking = weir::spawn(be_client(std::move(near), talk));
            co_await talking.wait();
            co_await serving.wait();
            const std::vector<std::string> sent{"one", "two", "three"};
            EXPECT_LE(came_back.size(), 3u);
            EXPECT_TRUE(std::equal(came_back.begin(), came_back.end(), sent.begin()));
            if (!weir::testing::injected_fault().has_value()) {
                EXPECT_EQ(came_back, sent);
            }
            for (const auto& each : {talking, serving}) {
                if (!each.cancelled() && each.error() != nullptr) {
                    std::rethrow_exception(each.error());
                }
            }
        },
        {.schedules = 10});
    EXPECT_GT(runs, 300u);
}

}  // namespace
