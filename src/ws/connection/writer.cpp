// SPDX-License-Identifier: MIT
// run() writes batch after batch of the outbox, and sleeps while it is empty. After both close
// frames it ends our direction of the stream, in the order of the RFC: the server at once, the
// client when the server has done so. There is no timer for each write: deadline() is looked at
// from time to time instead.

#include "ws/connection/writer.hpp"

#include <weir/loop.hpp>

#include <algorithm>
#include <chrono>

namespace weir::ws::detail {

namespace {

// A write that takes longer had to wait for the peer, not just for its turn on the loop.
constexpr clock::duration patience = std::chrono::milliseconds(100);

}  // namespace

writer::writer(io::any_stream& stream, keep_alive& life, const connection_options& options) noexcept
    : stream_(stream),
      life_(life),
      when_full_(options.when_full),
      timeout_(options.write_timeout),
      outbox_(options) {}

void writer::wake() {
    if (!work_.is_set()) {
        work_.set();
    }
}

bool writer::make_room(std::size_t size) {
    if (outbox_.has_room(size)) {
        return true;
    }
    if (when_full_ != overflow::drop_oldest) {
        return false;
    }
    while (!outbox_.has_room(size)) {
        outbox_.drop_oldest();
    }
    return true;
}

void writer::push(frame ready) {
    outbox_.push(std::move(ready));
    wake();
}

task<bool> writer::push_when_room(frame ready) {
    const mutex::guard turn = co_await send_turn_.lock();
    while (can_send() && !outbox_.has_room(ready.size())) {
        room_.clear();
        co_await room_.wait();
    }
    if (!can_send()) {
        co_return false;
    }
    push(std::move(ready));
    co_return true;
}

void writer::push_ping(frame ping) {
    outbox_.set_ping(std::move(ping));
    wake();
}

void writer::push_pong(frame pong) {
    outbox_.set_pong(std::move(pong));
    wake();
}

void writer::push_close(frame close) {
    is_closing_ = true;
    outbox_.set_close(std::move(close));
    wake();
    room_.set();
}

void writer::abandon() {
    stop();
    outbox_.discard();
    wake();
    room_.set();
}

void writer::fail(std::string error) {
    failure_ = std::move(error);
    abandon();
}

void writer::allow_end() {
    may_end_ = true;
    wake();
    room_.set();
}

void writer::allow_close_write() {
    may_close_write_ = true;
    wake();
}

task<> writer::run() {
    for (;;) {
        if (outbox_.next_batch()) {
            writing_since_ = now();
            const std::span<const io::const_bytes> parts = outbox_.parts();
            if (parts.size() == 1) {
                co_await stream_.write(parts.front());
            } else {
                co_await stream_.write(parts);
            }
            if (outbox_.batch_is_large() && now() - writing_since_ > patience) {
                life_.note_life_sign();  // there was no room, and the peer made some
            }
            writing_since_ = never;
            outbox_.written();
            room_.set();
            continue;
        }
        if (has_failed_ || (outbox_.close_was_written() && may_end_)) {
            break;
        }
        work_.clear();
        co_await work_.wait();
    }
    while (!may_close_write_ && !has_failed_) {
        work_.clear();
        co_await work_.wait();
    }
    if (!has_failed_) {
        writing_since_ = now();
        co_await stream_.close_write();
        writing_since_ = never;
    }
}

writer::time writer::deadline(time now) const noexcept {
    return has_failed_ ? never : weir::detail::after(std::min(writing_since_, now), timeout_);
}

}  // namespace weir::ws::detail
