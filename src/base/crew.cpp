// SPDX-License-Identifier: MIT
// A group without a block. Its members keep their own errors: the owner sees them with the results,
// and one that is never retrieved is reported as that of any task.
//
// A stream that is dropped cannot wait for its members, and what they refer to goes next. So those
// that cannot be ended now are given up: nothing of them runs again. A member that drops the stream
// itself is on the machine stack; it ends in the background.

#include "core/combine/given_up.hpp"

#include <weir/base/crew.hpp>
#include <weir/detail/group_support.hpp>
#include <weir/driver.hpp>
#include <weir/loop.hpp>
#include <weir/timeout.hpp>

#include <string>

namespace weir::detail {

crew::crew() noexcept {
    inherit(current_deadline());
}

crew::~crew() {
    if (group_ != nullptr) {
        group_->observer = nullptr;
        group_->inside = nullptr;
        group_->is_closed = true;
        release_group(group_);
    }
}

void crew::form() {
    group_ = make_group(loop::current());
    group_->observer = this;
    group_->inside = &*inherited_;
}

void crew::inherit(clock::time_point deadline) noexcept {
    inherited_.emplace(deadline);
}

void crew::renew_deadline() noexcept {
    if (const clock::time_point around = current_deadline(); around > inherited_->deadline()) {
        inherit(around);
    }
}

void crew::child_ended(fiber& ended) noexcept {
    member_ended(ended);
    changed.set();
}

task<void> crew::stop() {
    is_stopping_ = true;
    if (group_ == nullptr) {
        co_return;
    }
    for (fiber& each : group_->children) {
        cancel_fiber(each, {});
    }
    if (group_->home->is_running_members()) {
        group_->home->run_members(*group_);  // inside a stream that is being dropped
    }
    while (group_->child_count != 0) {
        changed.clear();
        co_await changed.wait();
    }
}

bool crew::stop_now() noexcept {
    is_stopping_ = true;
    if (group_ == nullptr) {
        return true;
    }
    for (fiber& each : group_->children) {
        cancel_fiber(each, {});
    }
    auto& home = static_cast<loop&>(*group_->home);
    if (this_thread.loop == &home) {
        home.run_members(*group_);
        // Operations that the kernel has yet to let go of: it does so when it is told.
        constexpr int most_polls = 2;
        driver& kernel = home.get_driver();
        for (int poll = 0; poll < most_polls && group_->child_count != 0 &&
                           this_thread.running != nullptr && kernel.has_sources();
             ++poll) {
            kernel.wait(0);
            home.run_members(*group_);
        }
        stop_tasks_now(*group_);
        if (group_->child_count != 0) {
            give_up_members();
        }
    }
    return group_->child_count == 0;
}

void crew::give_up_members() noexcept {
    const any_handle first(*group_->children.begin());
    const std::size_t before = group_->child_count;
    give_up_tasks(*group_);
    const std::size_t count = before - group_->child_count;
    if (count == 0) {
        return;
    }
    static_cast<loop&>(*group_->home)
        .tell({report_kind::dropped_stream,
               "a stream was dropped, and " + std::to_string(count) +
                   (count == 1 ? " of its tasks has" : " of its tasks have") +
                   " yet to end, which cannot be awaited: given up without the rest of the "
                   "clean-up; read the stream to its end, or use it inside "
                   "co_await weir::with(stream, body)",
               nullptr,
               first,
               {}});
}

}  // namespace weir::detail
