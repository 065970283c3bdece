// SPDX-License-Identifier: MIT
// What the handler does with a connection: messages go into the outbox, where the writer finds
// them, and come from the inbox, where the reader puts them. After is_closing_ nothing goes out any
// more but our close frame, which is the last. connection_end.cpp has the ways to the end,
// connection_tasks.cpp the tasks.

#include "ws/connection/connection_core.hpp"

#include <weir/error.hpp>
#include <weir/loop.hpp>

namespace weir::ws::detail {

namespace {

class counted {
public:
    explicit counted(std::size_t& in) noexcept : in_(in) { ++in_; }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    ~counted() { --in_; }

private:
    std::size_t& in_;
};

}  // namespace

connection_core::connection_core(established begun, const connection_options& options)
    : stream_(std::move(begun.stream)),
      options_(options),
      role_(begun.role),
      received_(std::move(begun.received)),
      protocol_(std::move(begun.protocol)),
      in_(begun.role, options),
      out_(options) {
    if (options.ping_interval > clock::duration::zero()) {
        next_ping_ = weir::detail::after(now(), options.ping_interval);
    }
}

frame connection_core::make(opcode kind, io::const_bytes content) const {
    return frame::make(kind, content,
                       role_ == role::client ? frame::masked::yes : frame::masked::no);
}

frame connection_core::own(frame shared) const {
    return role_ == role::server ? std::move(shared) : make(shared.kind(), shared.content());
}

frame connection_core::make_close(close_code code, std::string_view reason) const {
    if (code == close_code::none) {
        return make(opcode::close, {});
    }
    std::string content;
    content += static_cast<char>(number_of(code) >> 8);
    content += static_cast<char>(number_of(code) & 0xFFU);
    content += reason;
    return make(opcode::close, content);
}

void connection_core::throw_closed() const {
    if (!end_) {
        throw closed(close_code::abnormal, {},
                     is_broken_ ? "the connection is lost (1006): " + broken_by_
                                : "the connection is being closed");
    }
    if (end_->is_violation) {
        throw protocol_error(end_->code, end_->reason, end_->what);
    }
    throw closed(end_->code, end_->reason, end_->what);
}

void connection_core::wake_writer() {
    if (!wake_.is_set()) {
        wake_.set();
    }
}

void connection_core::enqueue(frame ready) {
    out_.push(std::move(ready));
    wake_writer();
}

// What the policy does about a full outbox. False: there is no room, now or ever.
bool connection_core::make_room(std::size_t size) {
    if (out_.has_room(size)) {
        return true;
    }
    if (options_.when_full != overflow::drop_oldest) {
        return false;
    }
    while (!out_.has_room(size)) {
        out_.drop_oldest();
    }
    return true;
}

task<> connection_core::send(frame ready) {
    if (!can_send()) {
        throw_closed();
    }
    if (!send_turn_.locked() && make_room(ready.size())) {
        enqueue(std::move(ready));
        co_return;
    }
    if (options_.when_full == overflow::close) {
        send_away("too slow to take what is sent");
        throw_closed();
    }
    const mutex::guard turn = co_await send_turn_.lock();
    while (can_send() && !out_.has_room(ready.size())) {
        room_.clear();
        co_await room_.wait();
    }
    if (!can_send()) {
        throw_closed();
    }
    enqueue(std::move(ready));
}

bool connection_core::try_send(frame ready) {
    if (!can_send() || send_turn_.locked() || !out_.has_room(ready.size())) {
        return false;
    }
    enqueue(std::move(ready));
    return true;
}

posted connection_core::post(const frame& shared) noexcept {
    if (!can_send() || !shared) {
        return posted::refused;
    }
    try {
        const std::uint64_t dropped = out_.dropped();
        if (make_room(shared.size())) {
            enqueue(own(shared));
            return dropped == out_.dropped() ? posted::queued : posted::queued_dropping;
        }
        send_away("too slow to take what is sent");
    } catch (...) {
        is_broken_ = true;  // out of memory: the reader will notice
        stream_.close();
    }
    return posted::refused;
}

outbox_room connection_core::room() const noexcept {
    return can_send() ? out_.room() : outbox_room{0, 0};
}

task<std::optional<message>> connection_core::receive() {
    takes_messages_ = true;
    for (;;) {
        if (!inbox_.empty()) {
            message first = inbox_.pop();
            inbox_bytes_ -= first.size();
            if (is_paused_) {
                inbox_room_.set();
            }
            co_return first;
        }
        if (end_) {
            answer_close();
            if (!end_->is_regular) {
                throw_closed();
            }
            co_return std::nullopt;
        }
        arrival_.clear();
        const counted waiting(receivers_);
        co_await arrival_.wait();
    }
}

bool connection_core::inbox_is_full() const noexcept {
    return inbox_.size() >= options_.inbox_messages || inbox_bytes_ >= options_.max_message;
}

void connection_core::accept_message(message came) {
    ++received_messages_;
    inbox_bytes_ += came.size();
    inbox_.push(std::move(came));
    arrival_.set();
}

task<> connection_core::wait_closed() {
    co_await gone_.wait();
}

task<> connection_core::close(frame said) {
    if (can_send() && !end_) {
        is_closed_by_us_ = true;
        begin_close(std::move(said));
    }
    answer_close();
    co_await gone_.wait();
}

connection_stats connection_core::stats() const noexcept {
    connection_stats now;
    now.received = received_messages_;
    now.round_trip = round_trip_;
    out_.add_to(now);
    return now;
}

}  // namespace weir::ws::detail
