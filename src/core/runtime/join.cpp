// SPDX-License-Identifier: MIT
// Waiting for the end of fibers: each watch is linked into the ring of its target, and finish()
// notifies all of them in order.

#include <weir/detail/join.hpp>
#include <weir/error.hpp>

namespace weir::detail {

void end_watch::link() noexcept {
    end_watch*& first = target_->joiners;
    if (first == nullptr) {
        link_to_self();
        first = this;
    } else {
        link_before(*first);
    }
}

void end_watch::unlink() noexcept {
    if (!is_linked()) {
        return;
    }
    end_watch*& first = target_->joiners;
    if (first == this) {
        first = next() == this ? nullptr : static_cast<end_watch*>(next());
    }
    list_link::unlink();
}

end_watch* end_watch::last_of(const fiber& target) noexcept {
    return target.joiners != nullptr ? static_cast<end_watch*>(target.joiners->previous())
                                     : nullptr;
}

void end_watch::target_ended() noexcept {
    if (role_ == role::member) {
        auto& member = static_cast<member_watch&>(*this);
        member.owner_->member_ended(member);
    } else {
        static_cast<join_operation*>(this)->go_on();
    }
}

void member_watch::link_once(owner& watcher) noexcept {
    // An owner links all of its watches without suspending, so no other watch is between them.
    const end_watch* last = last_of(*target_);
    if (last == nullptr || last->kind() != role::member ||
        static_cast<const member_watch*>(last)->owner_ != &watcher) {
        link_for(watcher);
    }
}

bool join_operation::ready() noexcept {
    if (target_->has(is_done)) {
        return true;
    }
    mistake_ = check_join(*target_);
    return mistake_ != join_mistake::none;
}

bool join_operation::start() noexcept {
    link();
    return true;
}

bool join_operation::cancel() noexcept {
    if (kind() == role::forwarding_join) {
        cancel_fiber(*target_, pending_reason(waiter()));
        return false;
    }
    unlink();
    return true;
}

void join_operation::go_on() noexcept {
    if (!is_waiting()) {
        return;  // let go of, to break a cycle
    }
    // A request that was passed on and that the target answered with a value or an error has been
    // answered here too. An error that is no answer comes first, the stop after it.
    if (kind() == role::forwarding_join && waiter().has(stop_pending) &&
        !target_->has(is_cancelled)) {
        if (target_->has(root_requested)) {
            complete_and_keep();
            return;
        }
        spend_requests(waiter());
    }
    complete();
}

join_mistake check_join(const fiber& target) noexcept {
    if (&target == this_thread.running) {
        return join_mistake::awaits_itself;
    }
    return target.group->home != this_thread.loop ? join_mistake::other_loop : join_mistake::none;
}

void throw_join_mistake(join_mistake mistake) {
    if (mistake == join_mistake::awaits_itself) {
        throw invalid_state("a task awaits its own handle: it would wait for ever");
    }
    throw invalid_state(
        "a task of one loop awaits the handle of a task that belongs to another loop");
}

}  // namespace weir::detail
