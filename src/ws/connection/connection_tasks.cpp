// SPDX-License-Identifier: MIT
// The tasks behind a connection. The reader feeds what comes to the receiver, and after the peer's
// last word only discards, until the peer ends the stream. The writer writes whatever waits, as
// much as it can at once, and ends our direction when both have said good-bye: as the RFC wants it,
// the server first, the client when the server has. The watch looks at the times: it sends pings,
// and gives the connection up when the peer does not answer, does not take what is written, or does
// not close. It has no timer for each write: it wakes up at least every write_timeout, and no write
// that began after that can be due earlier.

#include "ws/connection/connection_core.hpp"

#include <weir/loop.hpp>
#include <weir/scope.hpp>

#include <algorithm>
#include <array>
#include <memory>

namespace weir::ws::detail {

namespace {

// Small while little comes: most connections are quiet, and there are many.
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

// A write that takes longer had to wait for the peer, not just for its turn on the loop.
constexpr clock::duration patience = std::chrono::milliseconds(100);

}  // namespace

// Counts a task's end, however it comes.
class connection_core::task_mark {
public:
    explicit task_mark(connection_core& of) noexcept : of_(of) {}
    task_mark(const task_mark&) = delete;
    task_mark& operator=(const task_mark&) = delete;
    ~task_mark() {
        if (--of_.running_ == 0) {
            of_.finished_.set();
        }
        of_.wake_writer();  // it may wait for the reader's end
    }

private:
    connection_core& of_;
};

task<> connection_core::read() {
    const task_mark mark(*this);
    try {
        read_buffer buffer;
        in_.feed(received_);
        for (;;) {
            for (receiver::event came = in_.next(); came.what != receiver::kind::nothing;
                 came = in_.next()) {
                if (came.what != receiver::kind::message) {
                    take_control(came);
                    continue;
                }
                message whole = in_.take_message();
                while (inbox_is_full() && !discards()) {
                    is_paused_ = true;
                    inbox_room_.clear();
                    co_await inbox_room_.wait();
                    is_paused_ = false;
                    ++life_signs_;  // the silence was not the peer's
                }
                if (!discards()) {
                    accept_message(std::move(whole));
                }
            }
            const std::size_t count = co_await stream_.read(buffer.room());
            if (count == 0) {
                break;
            }
            ++life_signs_;
            in_.feed(buffer.filled(count));
        }
        if (!end_) {
            lose(broken_by_.empty() ? "the stream ended without a close frame" : broken_by_);
        }
    } catch (const std::exception& error) {
        lose(broken_by_.empty() ? error.what() : broken_by_);
    }
}

void connection_core::take_control(const receiver::event& came) {
    switch (came.what) {
        case receiver::kind::ping:
            if (can_send()) {
                out_.set_pong(make(opcode::pong, came.text));
                wake_writer();
            }
            break;
        case receiver::kind::pong:
            take_pong(came.text);
            break;
        case receiver::kind::close:
            peer_closed(came.code, came.text);
            break;
        case receiver::kind::violation:
            peer_failed(came.code, came.text);
            break;
        default:
            break;
    }
}

task<> connection_core::write() {
    const task_mark mark(*this);
    try {
        for (;;) {
            if (out_.next_batch()) {
                writing_since_ = now();
                const std::span<const io::const_bytes> parts = out_.parts();
                if (parts.size() == 1) {
                    co_await stream_.write(parts.front());
                } else {
                    co_await stream_.write(parts);
                }
                if (out_.batch_is_large() && now() - writing_since_ > patience) {
                    ++life_signs_;  // there was no room, and the peer made some
                }
                writing_since_ = never;
                out_.written();
                room_.set();
                continue;
            }
            if (is_broken_ || (out_.close_was_written() && end_)) {
                break;
            }
            wake_.clear();
            co_await wake_.wait();
        }
        while (role_ == role::client && !is_refused_ && !is_broken_ && running_ > 1) {
            wake_.clear();
            co_await wake_.wait();
        }
        if (!is_broken_) {
            writing_since_ = now();
            co_await stream_.close_write();
            writing_since_ = never;
        }
    } catch (const std::exception& error) {
        writing_since_ = never;
        write_failed(error.what());
    }
}

std::uint64_t connection_core::send_ping() {
    std::array<char, 8> payload;
    ++last_ping_;
    for (std::size_t at = 0; at < payload.size(); ++at) {
        payload[at] = static_cast<char>(last_ping_ >> (56 - 8 * at) & 0xFFU);
    }
    pinged_at_ = now();
    out_.set_ping(make(opcode::ping, payload));
    wake_writer();
    return last_ping_;
}

void connection_core::take_pong(std::string_view payload) {
    if (payload.size() != 8) {
        return;  // not one of ours: allowed, and means nothing
    }
    std::uint64_t number = 0;
    for (const char each : payload) {
        number = number << 8 | static_cast<unsigned char>(each);
    }
    if (number <= last_pong_ || number > last_ping_) {
        return;
    }
    last_pong_ = number;
    if (number == last_ping_) {
        round_trip_ = now() - pinged_at_;
    }
    pong_.set();
}

task<clock::duration> connection_core::ping() {
    if (!can_send()) {
        throw_closed();
    }
    const clock::time_point began = now();
    const std::uint64_t number = send_ping();
    while (last_pong_ < number) {
        if (end_ || is_broken_) {
            throw_closed();
        }
        pong_.clear();
        co_await pong_.wait();
    }
    co_return now() - began;
}

task<> connection_core::watch() {
    while (running_ > 0) {
        changed_.clear();
        cancel_scope until(check_times(now()));
        co_await until.run(changed_.wait());
    }
}

// Does what is due; gives the time of the next look.
connection_core::time connection_core::check_times(time now) {
    time write_deadline = never;
    if (!is_broken_) {
        write_deadline = weir::detail::after(std::min(writing_since_, now), options_.write_timeout);
    }
    if (now >= close_deadline_) {
        close_deadline_ = never;
        lose(broken_by_.empty() ? "the peer did not close in time" : broken_by_);
        return never;
    }
    if (now >= write_deadline) {
        lose("the peer took nothing of what was sent to it within the write_timeout");
        return never;
    }
    if (now >= answer_at_) {
        answer_close();
    }
    const time ping_time = check_ping(now);
    return std::min({close_deadline_, write_deadline, answer_at_, ping_time});
}

connection_core::time connection_core::check_ping(time now) {
    if (next_ping_ == never || end_ || !can_send()) {
        return never;
    }
    if (life_signs_ != signs_at_ping_) {
        ping_deadline_ =
            never;  // anything that comes is an answer: the pong may be behind much else
    } else if (ping_deadline_ != never && (is_paused_ || out_.has_ping())) {
        ping_deadline_ =
            weir::detail::after(now, options_.ping_timeout);  // not read, or not sent yet
    } else if (now >= ping_deadline_) {
        lose("there was no answer to a ping within the ping_timeout");
        return never;
    }
    if (now >= next_ping_) {
        send_ping();
        next_ping_ = weir::detail::after(now, options_.ping_interval);
        if (ping_deadline_ == never) {
            ping_deadline_ = weir::detail::after(now, options_.ping_timeout);
            signs_at_ping_ = life_signs_;
        }
    }
    return std::min(next_ping_, ping_deadline_);
}

}  // namespace weir::ws::detail
