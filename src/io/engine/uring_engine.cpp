// SPDX-License-Identifier: MIT
// An operation is submitted as one entry and stays in its descriptor's list until its completion
// arrives. A cancel is another entry; the operation still ends with its own completion, so the
// kernel has no buffer any more when the fiber resumes.

#if WEIR_HAVE_IO_URING

#include "io/engine/uring_engine.hpp"

#include <cerrno>

namespace weir::io::detail {

bool uring_engine::start(io_operation& begun) noexcept {
    if (begun.is_attempted_first()) {
        const int result = begun.try_once();
        if (result != -EAGAIN && result != -EINTR && begun.take(result)) {
            return false;
        }
    }
    begun.descriptor_->waiting(begun.awaited_).push_back(begun);
    submit(begun);
    return true;
}

bool uring_engine::cancel(io_operation& pending) noexcept {
    // Behind a poll the operation has not begun, and ends with the poll.
    const completion first = pending.is_behind_poll_ ? completion::nothing : completion::operation;
    ring_.cancel(uring_ring::tag(&pending, first));
    return false;
}

void uring_engine::completed(io_operation& done, const io_uring_cqe& completion) noexcept {
    ring_.operation_ended();
    done.is_behind_poll_ = false;
    const int result = completion.res;
    if (result == -EAGAIN && !done.is_cancelling_ && done.can_be_awaited()) {
        submit_behind_poll(done);
        return;
    }
    // A call that would block, or was interrupted, has had no effect.
    const bool has_run = result != -EINTR && (result != -EAGAIN || !done.can_be_awaited());
    const bool is_done = has_run && done.take(result);
    if (!is_done && !done.is_cancelling_) {
        submit(done);
        return;
    }
    if (!is_done) {
        done.result_ = -ECANCELED;
    }
    done.finish();
}

void uring_engine::submit(io_operation& begun) noexcept {
    io_uring_sqe& entry = ring_.next_entry();
    begun.prepare(entry);
    entry.user_data = uring_ring::tag(&begun, completion::operation);
    ring_.operation_began();
}

// A descriptor that was made non-blocking elsewhere returns EAGAIN instead of waiting: a poll that
// is linked before the operation waits for readiness.
void uring_engine::submit_behind_poll(io_operation& begun) noexcept {
    ring_.make_room(2);  // a link does not reach from one submission into the next
    io_uring_sqe& entry = ring_.next_entry();
    const readiness direction =
        begun.awaited_ == io_event::writable ? readiness::writable : readiness::readable;
    io_uring_prep_poll_add(&entry, begun.descriptor_->fd(), poll_mask(direction));
    entry.flags |= IOSQE_IO_LINK;
    entry.user_data = uring_ring::tag(&begun, completion::nothing);
    begun.is_behind_poll_ = true;
    submit(begun);
}

}  // namespace weir::io::detail

#endif
