// SPDX-License-Identifier: MIT
#include <weir/base/wait_list.hpp>
#include <weir/testing/testing.hpp>

#include <string>

namespace {

using weir::detail::wait_list;
using weir::detail::wait_state;

// Waits in a list and says how the wait ended.
class waiting final : public weir::detail::listed_operation {
public:
    explicit waiting(wait_list& list) noexcept : list_(&list) {}
    ~waiting() {
        if (state_ == wait_state::granted) {
            list_->remove_granted(*this);
        }
    }
    bool start() noexcept override { return list_->enter(*this); }
    bool cancel() noexcept override {
        list_->remove(*this);
        state_ = wait_state::idle;
        return true;
    }
    wait_state resume() noexcept {
        const wait_state ended = state_;
        if (state_ == wait_state::granted) {
            list_->remove_granted(*this);
            state_ = wait_state::idle;
        }
        return ended;
    }

private:
    wait_list* list_;
};

weir::task<> note(wait_list& list, std::string& order, char name) {
    const wait_state ended = co_await waiting(list);
    order += ended == wait_state::granted ? name : '-';
}

WEIR_TEST(WaitList, GrantsFirstComeFirstServed) {
    wait_list list;
    std::string order;
    auto a = weir::spawn(note(list, order, 'a'));
    auto b = weir::spawn(note(list, order, 'b'));
    co_await weir::testing::settle_all();
    EXPECT_TRUE(list.has_waiting());
    list.grant_first();
    EXPECT_TRUE(list.has_granted());
    list.grant_first();
    co_await a;
    co_await b;
    EXPECT_EQ(order, "ab");
    EXPECT_TRUE(list.is_empty());
}

WEIR_TEST(WaitList, ACancelledWaiterLeaves) {
    wait_list list;
    std::string order;
    auto a = weir::spawn(note(list, order, 'a'));
    auto b = weir::spawn(note(list, order, 'b'));
    co_await weir::testing::settle_all();
    a.cancel();
    list.grant_first();
    co_await b;
    co_await a.wait();
    EXPECT_EQ(order, "b");
    EXPECT_TRUE(list.is_empty());
}

WEIR_TEST(WaitList, ReleasesAllWithAnAnswer) {
    wait_list list;
    std::string order;
    auto a = weir::spawn(note(list, order, 'a'));
    auto b = weir::spawn(note(list, order, 'b'));
    co_await weir::testing::settle_all();
    list.release_waiting(wait_state::refused);
    EXPECT_TRUE(list.is_empty());
    co_await a;
    co_await b;
    EXPECT_EQ(order, "--");
}

WEIR_TEST(WaitList, OrphansGrantedAndWaiting) {
    wait_list list;
    std::string order;
    auto a = weir::spawn(note(list, order, 'a'));
    auto b = weir::spawn(note(list, order, 'b'));
    co_await weir::testing::settle_all();
    list.grant_first();
    list.orphan();
    co_await a;
    co_await b;
    EXPECT_EQ(order, "--");
}

}  // namespace
