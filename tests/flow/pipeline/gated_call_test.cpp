// SPDX-License-Identifier: MIT
// Calls behind gates: admitted, refused, waiting, stopped.

#include <weir/flow/gated_call.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

#include <stdexcept>
#include <string>

namespace {

using namespace std::chrono_literals;
using weir::admission;
using weir::call_context;
using weir::outcome;
using weir::task;
using weir::detail::call_view;

// Counts passes; open, shut, or open after a second.
class door {
public:
    static constexpr weir::policy_kind kind = weir::policy_kind::custom;
    enum class state { open, shut };

    class pass {
    public:
        explicit pass(door& from) noexcept : from_(&from) { ++from.held; }
        pass(pass&& other) noexcept : from_(std::exchange(other.from_, nullptr)) {}
        ~pass() {
            if (from_ != nullptr) {
                --from_->held;
            }
        }
        void finish(const weir::outcome_view& ended, call_context&) noexcept {
            ++(ended.has_value() ? from_->succeeded : from_->failed);
        }

    private:
        door* from_;
    };

    const std::string& name() const noexcept { return name_; }
    admission<pass> try_enter(call_context&) noexcept {
        if (now == state::open) {
            return pass(*this);
        }
        return weir::refusal{weir::refusal_reason::queue_full, 1s};
    }

    state now = state::open;
    int held = 0;
    int succeeded = 0;
    int failed = 0;

private:
    std::string name_ = "door";
};
class waiting_door : public door {
public:
    task<admission<pass>> enter(call_context& call) {
        co_await weir::sleep(1s);
        co_return try_enter(call);
    }
};

task<int> seven() {
    co_await weir::sleep(1s);
    co_return 7;
}
task<int> broken() {
    throw std::runtime_error("broken");
    co_return 0;
}

task<> open_later(door& gate) {
    co_await weir::sleep(500ms);
    gate.now = door::state::open;
}
template <class Fn>
task<int> run_through(door& gate, Fn& fn) {
    auto call = weir::detail::call_through<call_view::value>(gate, fn);
    co_return co_await std::move(call);
}

template <call_view View, class Gate, class Fn>
auto under(Gate& gate, Fn& fn) {
    return weir::detail::call_under<View, Fn&>(&gate, fn);
}

WEIR_TEST(GatedCall, AnAdmittedCallHoldsItsPassUntilItEnds) {
    door gate;
    auto work = [&] {
        EXPECT_EQ(gate.held, 1);
        return seven();
    };
    const int direct = co_await run_through(gate, work);
    const int framed = co_await under<call_view::value>(gate, work);
    EXPECT_EQ(direct + framed, 14);
    EXPECT_EQ(gate.held, 0);
    EXPECT_EQ(gate.succeeded, 2);
}

WEIR_TEST(GatedCall, ARefusedCallIsNotMade) {
    door gate;
    gate.now = door::state::shut;
    bool called = false;
    auto work = [&] { called = true; };
    auto call = weir::detail::call_through<call_view::outcome>(gate, work);
    const outcome<> direct = co_await std::move(call);
    const outcome<> framed = co_await under<call_view::outcome>(gate, work);
    EXPECT_TRUE(direct.is_refused());
    EXPECT_TRUE(framed.is_refused());
    EXPECT_EQ(framed.refusal().retry_after, 1s);
    EXPECT_FALSE(called);
}

WEIR_TEST(GatedCall, FailuresReachThePass) {
    door gate;
    auto work = [] { return broken(); };
    auto call = weir::detail::call_through<call_view::outcome>(gate, work);
    const outcome<int> direct = co_await std::move(call);
    const outcome<int> framed = co_await under<call_view::outcome>(gate, work);
    EXPECT_TRUE(direct.has_error());
    EXPECT_TRUE(framed.has_error());
    EXPECT_EQ(gate.failed, 2);
}

WEIR_TEST(GatedCall, WaitsWhereTheGateCanBeWaitedFor) {
    waiting_door gate;
    gate.now = door::state::shut;
    auto work = [] { return 1; };
    auto opened = weir::spawn(open_later(gate));
    const auto begun = weir::now();
    const outcome<int> ended = co_await under<call_view::outcome>(gate, work);
    EXPECT_EQ(ended.value(), 1);
    EXPECT_EQ(weir::now() - begun, 1s);
    EXPECT_EQ(gate.succeeded, 1);
    co_await opened;
}

WEIR_TEST(GatedCall, AStoppedCallReleasesItsPassAndIsNotCounted) {
    door gate;
    auto work = [] { return seven(); };
    auto direct = weir::spawn(run_through(gate, work));
    auto framed = weir::spawn(under<call_view::value>(gate, work));
    co_await weir::sleep(500ms);
    EXPECT_EQ(gate.held, 2);
    direct.cancel();
    framed.cancel();
    co_await weir::sleep(1ms);
    EXPECT_EQ(gate.held, 0);
    EXPECT_EQ(gate.succeeded + gate.failed, 0);
}

}  // namespace
