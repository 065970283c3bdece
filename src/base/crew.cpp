// SPDX-License-Identifier: MIT
// A group without a block. Its members keep their own errors: the owner sees them with the results,
// and one that is never retrieved is reported as that of any task.

#include <weir/base/crew.hpp>
#include <weir/detail/group_support.hpp>
#include <weir/loop.hpp>
#include <weir/timeout.hpp>

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
    while (group_->child_count != 0) {
        changed.clear();
        co_await changed.wait();
    }
}

}  // namespace weir::detail
