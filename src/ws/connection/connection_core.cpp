// SPDX-License-Identifier: MIT
// The handler puts messages into the writer's outbox and takes them from the inbox, which the
// reader fills. The watch sends pings, and gives the connection up when the peer does not answer,
// does not take what is written, or does not close.
//
// A connection ends in one of four ways. begin_close: we send a close frame and wait for the
// peer's. end_by_peer: the peer closed or broke the protocol; our answer waits until the handler
// has taken what came before and asks for more, since it may want to reply to that. send_away: the
// peer is too slow. lose: nothing more can be sent. The deadline of the close handshake makes sure
// that the others end in lose at last. After our close frame only discarding is left to do for the
// reader, until the peer ends the stream.

#include "ws/connection/connection_core.hpp"

#include <weir/error.hpp>
#include <weir/loop.hpp>
#include <weir/scope.hpp>

#include <algorithm>
#include <memory>

namespace weir::ws::detail {

namespace {

// Small while little is received: most connections are quiet, and there are many.
class read_buffer {
public:
    io::bytes room() {
        if (wanted_ != size_) {
            memory_ = std::make_unique_for_overwrite<std::byte[]>(wanted_);
            size_ = wanted_;
        }
        return {memory_.get(), size_};
    }
    io::const_bytes filled(std::size_t count) noexcept {
        small_reads_ = count <= small ? small_reads_ + 1 : 0;
        wanted_ = count == size_ ? large : small_reads_ > 8 ? small : size_;
        return {memory_.get(), count};
    }

private:
    static constexpr std::size_t small = 1 << 10;
    static constexpr std::size_t large = 16 << 10;
    std::unique_ptr<std::byte[]> memory_;
    std::size_t size_ = 0;
    std::size_t wanted_ = small;
    unsigned small_reads_ = 0;
};

std::string describe_close(close_code code, std::string_view reason) {
    std::string text = code == close_code::none ? "no code" : std::to_string(number_of(code));
    if (!reason.empty()) {
        text.append(" ").append(reason);
    }
    return text;
}

}  // namespace

// Counts the end of the reader or the writer, however it comes.
class connection_core::task_mark {
public:
    explicit task_mark(connection_core& core) noexcept : core_(core) {}
    task_mark(const task_mark&) = delete;
    task_mark& operator=(const task_mark&) = delete;
    ~task_mark() {
        if (--core_.running_ == 0) {
            core_.finished_.set();
        }
        core_.writer_.allow_close_write();  // a client's writer waits for the reader's end
    }

private:
    connection_core& core_;
};

connection_core::connection_core(established opened, const connection_options& options)
    : stream_(std::move(opened.stream)),
      role_(opened.role),
      when_full_(options.when_full),
      received_(std::move(opened.received)),
      protocol_(std::move(opened.protocol)),
      receiver_(opened.role, options),
      inbox_(options),
      keep_alive_(options),
      writer_(stream_, keep_alive_, options),
      closing_(options.close_timeout) {
    if (role_ == role::server) {
        writer_.allow_close_write();
    }
}

// ---- frames

frame connection_core::make(opcode kind, io::const_bytes content) const {
    return frame::make(kind, content,
                       role_ == role::client ? frame::masked::yes : frame::masked::no);
}

frame connection_core::make_own(frame shared) const {
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

// ---- what the handler does

void connection_core::throw_closed() const {
    if (closing_.end()) {
        closing_.end()->raise();
    }
    throw closed(close_code::abnormal, {},
                 writer_.has_failed() ? "the connection is lost (1006): " + writer_.failure()
                                      : "the connection is being closed");
}

task<> connection_core::send(frame ready) {
    if (!can_send()) {
        throw_closed();
    }
    if (!writer_.has_waiting_senders() && writer_.make_room(ready.size())) {
        writer_.push(std::move(ready));
        co_return;
    }
    if (when_full_ == overflow::close) {
        send_away();
        throw_closed();
    }
    const bool is_sent = co_await writer_.push_when_room(std::move(ready));
    if (!is_sent) {
        throw_closed();
    }
}

bool connection_core::try_send(frame ready) {
    if (!can_send() || writer_.has_waiting_senders() || !writer_.has_room(ready.size())) {
        return false;
    }
    writer_.push(std::move(ready));
    return true;
}

posted connection_core::post(const frame& shared) noexcept {
    if (!can_send() || !shared) {
        return posted::refused;
    }
    try {
        const std::uint64_t dropped = writer_.dropped();
        if (writer_.make_room(shared.size())) {
            writer_.push(make_own(shared));
            return dropped == writer_.dropped() ? posted::queued : posted::queued_dropping;
        }
        send_away();
    } catch (...) {
        writer_.stop();   // out of memory
        stream_.close();  // the reader will notice
    }
    return posted::refused;
}

task<std::optional<message>> connection_core::receive() {
    for (;;) {
        if (std::optional<message> first = inbox_.try_take()) {
            co_return first;
        }
        if (closing_.end()) {
            send_answer();
            if (!closing_.end()->is_regular) {
                throw_closed();
            }
            co_return std::nullopt;
        }
        const inbox::waiting waiting(inbox_);
        co_await inbox_.wait_for_arrival();
    }
}

task<> connection_core::wait_closed() {
    co_await closing_.wait_for_end();
}

task<> connection_core::close(frame close_frame) {
    if (can_send() && !closing_.end()) {
        closing_.set_closed_by_us();
        begin_close(std::move(close_frame));
    }
    send_answer();
    co_await closing_.wait_for_end();
}

void connection_core::send_ping() {
    const keep_alive::payload content = keep_alive_.start_ping();
    writer_.push_ping(make(opcode::ping, content));
}

task<clock::duration> connection_core::ping() {
    if (!can_send()) {
        throw_closed();
    }
    const clock::time_point began = now();
    send_ping();
    const std::uint64_t number = keep_alive_.last_ping();
    while (!keep_alive_.is_answered(number)) {
        if (closing_.end() || writer_.has_failed()) {
            throw_closed();
        }
        co_await keep_alive_.wait_for_pong();
    }
    co_return now() - began;
}

connection_stats connection_core::stats() const noexcept {
    connection_stats now;
    now.received = inbox_.received();
    now.round_trip = keep_alive_.round_trip();
    writer_.add_to(now);
    return now;
}

// ---- the ways to the end

void connection_core::end_with(connection_end how) {
    closing_.end_with(std::move(how));
    inbox_.wake_handler();
    writer_.allow_end();
    keep_alive_.wake();
    changed_.set();
}

void connection_core::begin_close(frame close_frame) {
    if (writer_.is_closing()) {
        return;
    }
    closing_.start();
    writer_.push_close(std::move(close_frame));
    inbox_.wake_reader();
    changed_.set();
}

void connection_core::send_away() {
    constexpr std::string_view reason = "too slow";
    writer_.discard();
    writer_.allow_close_write();
    begin_close(make_close(close_code::policy_violation, reason));
    end_with({.code = close_code::policy_violation,
              .reason = std::string(reason),
              .message = "the peer was sent away: " +
                         describe_close(close_code::policy_violation, reason)});
}

void connection_core::lose(std::string error) {
    writer_.abandon();
    stream_.close();
    inbox_.wake_reader();
    end_with({.message = "the connection is lost (1006): " + error});
}

// An error of a write says more than what the reader noticed afterwards.
void connection_core::lose_because(std::string_view error) {
    lose(writer_.failure().empty() ? std::string(error) : writer_.failure());
}

void connection_core::end_by_peer(const receiver::event& received) {
    const bool is_violation = received.what == receiver::kind::violation;
    const char* const what =
        is_violation ? "the peer broke the protocol: " : "the peer closed the connection: ";
    end_with({.code = received.code,
              .reason = std::string(received.text),
              .message = what + describe_close(received.code, received.text),
              .is_regular = !is_violation && is_regular(received.code),
              .is_violation = is_violation});
    if (is_violation) {
        writer_.allow_close_write();  // no use in waiting for the peer's end
    }
    closing_.set_answer(
        make_close(received.code, is_violation ? received.text : std::string_view()));
    if (inbox_.empty() && !inbox_.is_handler_busy()) {
        send_answer();
    } else {
        closing_.delay_answer();
        changed_.set();
    }
}

void connection_core::send_answer() {
    if (frame answer = closing_.take_answer()) {
        begin_close(std::move(answer));
    }
}

task<> connection_core::shut_down(weir::ending handler_ending) {
    send_answer();
    if (!writer_.is_closing()) {
        closing_.set_closed_by_us();
        const close_code code = handler_ending == weir::ending::value   ? close_code::normal
                                : handler_ending == weir::ending::error ? close_code::internal_error
                                                                        : close_code::going_away;
        begin_close(make_close(code, {}));
    }
    co_await finished_.wait();
}

// ---- the tasks

task<> connection_core::read() {
    const task_mark mark(*this);
    try {
        read_buffer buffer;
        receiver_.feed(received_);
        for (;;) {
            for (receiver::event received = receiver_.next();
                 received.what != receiver::kind::nothing; received = receiver_.next()) {
                if (received.what != receiver::kind::message) {
                    handle_control(received);
                    continue;
                }
                message complete = receiver_.take_message();
                while (inbox_.is_full() && !discards()) {
                    co_await inbox_.wait_for_room();
                    inbox_.continue_reading();
                    keep_alive_.note_life_sign();  // we did not read: the peer was not silent
                }
                if (!discards()) {
                    inbox_.push(std::move(complete));
                }
            }
            const std::size_t count = co_await stream_.read(buffer.room());
            if (count == 0) {
                break;
            }
            keep_alive_.note_life_sign();
            receiver_.feed(buffer.filled(count));
        }
        if (!closing_.end()) {
            lose_because("the stream ended without a close frame");
        }
    } catch (const std::exception& error) {
        lose_because(error.what());
    }
}

void connection_core::handle_control(const receiver::event& received) {
    switch (received.what) {
        case receiver::kind::ping:
            if (can_send()) {
                writer_.push_pong(make(opcode::pong, received.text));
            }
            break;
        case receiver::kind::pong:
            keep_alive_.take_pong(received.text);
            break;
        case receiver::kind::close:
        case receiver::kind::violation:
            end_by_peer(received);
            break;
        default:
            break;
    }
}

task<> connection_core::write() {
    const task_mark mark(*this);
    try {
        co_await writer_.run();
    } catch (const std::exception& error) {
        writer_.fail(error.what());
        // The reader gets some time to find out why: a close frame may have come just before.
        closing_.limit();
        inbox_.wake_reader();
        keep_alive_.wake();
        changed_.set();
    }
}

task<> connection_core::watch() {
    while (running_ > 0) {
        changed_.clear();
        cancel_scope until(check_times(now()));
        co_await until.run(changed_.wait());
    }
}

// Does what is due, and gives the time of the next check. That is at most one write_timeout away:
// no write that begins until then can be overdue earlier.
connection_core::time connection_core::check_times(time now) {
    const time write_deadline = writer_.deadline(now);
    if (closing_.is_overdue(now)) {
        closing_.forget_deadline();
        lose_because("the peer did not close within the close_timeout");
        return time::max();
    }
    if (now >= write_deadline) {
        lose("the peer did not take what was sent within the write_timeout");
        return time::max();
    }
    if (closing_.is_answer_due(now)) {
        send_answer();
    }
    const time ping_time = check_ping(now);
    return std::min({closing_.next_check(), write_deadline, ping_time});
}

connection_core::time connection_core::check_ping(time now) {
    if (closing_.end() || !can_send()) {
        return time::max();
    }
    const keep_alive::verdict verdict =
        keep_alive_.check(now, inbox_.is_reader_waiting() || writer_.has_ping());
    if (verdict.is_lost) {
        lose("the peer did not answer a ping within the ping_timeout");
    } else if (verdict.is_ping_due) {
        send_ping();
    }
    return verdict.next_check;
}

}  // namespace weir::ws::detail
