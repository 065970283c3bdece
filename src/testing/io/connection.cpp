// SPDX-License-Identifier: MIT
// The state machine of a connection, as programs see TCP. Operations that wait are attached to
// their end. Every change of an end serves them at once, so that bytes go from the pipe straight
// into the reader's buffer, and a later stop finds them delivered.

#include "testing/io/connection.hpp"

#include <weir/error.hpp>
#include <weir/io/error.hpp>

#include <algorithm>
#include <cerrno>

namespace weir::testing::sim {

connection::connection(std::shared_ptr<network_core> network, link& path, std::string from,
                       std::string to)
    : network_(std::move(network)),
      path_(path),
      pipes_{pipe(*this, 0), pipe(*this, 1)},
      is_backwards_(host_of(to) < host_of(from)) {
    ends_[0].name = std::move(from);
    ends_[1].name = std::move(to);
    path_.connections.push_back(this);
    ++network_->stats.open;
}

connection::~connection() {
    std::erase(path_.connections, this);
}

bool connection::try_read(reading_operation& reader, int side) noexcept {
    end& self = ends_[side];
    into(side).catch_up();
    if (self.is_closed) {
        reader.error_ = already_closed;
    } else if (self.reader != nullptr) {
        reader.error_ = already_used;
    } else if (reader.takes_ && reader.next_part().empty()) {
        reader.count_ = 0;
    } else if (into(side).unread() > 0) {
        if (reader.takes_) {
            while (into(side).unread() > 0 && !reader.next_part().empty()) {
                const std::size_t size = reader.into_.size();
                const std::size_t taken = into(side).take(reader.into_);
                reader.count_ += taken;
                reader.into_ = reader.into_.after(taken);
                if (taken < size) {
                    break;  // it was to be a short read
                }
            }
            serve_writer(1 - side);
        }
    } else if (self.error != 0) {
        reader.error_ = self.error;
    } else if (!self.end_seen) {
        return false;
    }
    return true;
}

bool connection::try_write(write_operation& writer, int side) noexcept {
    end& self = ends_[side];
    if (self.is_closed) {
        writer.error_ = already_closed;
    } else if (self.writer != nullptr) {
        writer.error_ = already_used;
    } else if (self.end_sent) {
        writer.error_ = EPIPE;
    } else if (self.error != 0) {
        writer.error_ = self.error == ECONNRESET && self.end_seen ? EPIPE : self.error;
    } else {
        for (;;) {
            if (writer.first_.empty()) {
                if (writer.rest_.empty()) {
                    return true;
                }
                writer.first_ = writer.rest_.front();
                writer.rest_ = writer.rest_.subspan(1);
                continue;
            }
            const std::size_t count = std::min(out_of(side).room(), writer.first_.size());
            if (count == 0) {
                return false;
            }
            out_of(side).send(writer.first_.first(count));
            writer.first_ = writer.first_.after(count);
        }
    }
    return true;
}

io::closure connection::closure_at(int side) const noexcept {
    const end& self = ends_[side];
    if (self.is_closed || self.error != 0 || (self.end_seen && self.end_sent)) {
        return io::closure::both;
    }
    return self.end_seen ? io::closure::sending : io::closure::none;
}

bool connection::try_closure(closure_operation& watcher, int side) noexcept {
    into(side).catch_up();
    if (ends_[side].is_closed) {
        watcher.error_ = already_closed;
    } else if (ends_[side].watcher != nullptr) {
        watcher.error_ = already_used;
    } else {
        return closure_at(side) != io::closure::none;
    }
    return true;
}

int connection::close_write(int side) noexcept {
    end& self = ends_[side];
    if (self.is_closed) {
        return already_closed;
    }
    if (self.error != 0) {
        return ENOTCONN;
    }
    if (!self.end_sent) {
        self.end_sent = true;
        out_of(side).send_end();
        serve_writer(side);  // a waiting write fails
        serve_watcher(side);
    }
    return 0;
}

void connection::close(int side, bool with_reset) noexcept {
    end& self = ends_[side];
    if (self.is_closed) {
        return;
    }
    self.is_closed = true;
    serve_reader(side);
    serve_writer(side);
    serve_watcher(side);
    if (into(side).unread() > 0) {
        into(side).drop_unread();
        with_reset = true;
    }
    if (self.error == 0) {
        if (with_reset) {
            answer_with_reset(side);
        } else if (!self.end_sent) {
            self.end_sent = true;
            out_of(side).send_end();
        }
    }
    if (ends_[1 - side].is_closed) {
        --network_->stats.open;
    }
}

void connection::serve_reader(int side) noexcept {
    if (stream_operation* const waiting = std::exchange(ends_[side].reader, nullptr)) {
        waiting->place_ = nullptr;
        auto& reader = static_cast<reading_operation&>(*waiting);
        if (try_read(reader, side)) {
            finish(reader);
        } else {
            wait_to_read(reader, side);
        }
    }
}

void connection::serve_writer(int side) noexcept {
    if (stream_operation* const waiting = std::exchange(ends_[side].writer, nullptr)) {
        waiting->place_ = nullptr;
        auto& writer = static_cast<write_operation&>(*waiting);
        if (try_write(writer, side)) {
            finish(writer);
        } else {
            wait_to_write(writer, side);
        }
    }
}

void connection::serve_watcher(int side) noexcept {
    if (stream_operation* const waiting = std::exchange(ends_[side].watcher, nullptr)) {
        waiting->place_ = nullptr;
        auto& watcher = static_cast<closure_operation&>(*waiting);
        if (try_closure(watcher, side)) {
            finish(watcher);
        } else {
            wait_for_closure(watcher, side);
        }
    }
}

// A stop that arrives now does not take back bytes that were read or sent.
void connection::finish(stream_operation& done) noexcept {
    if (done.error_ == already_closed) {
        done.error_ = closed_meanwhile;
    }
    if (done.error_ == 0) {
        done.complete_and_keep();
    } else {
        done.complete();
    }
}

void connection::fail(int side, int error) noexcept {
    end& self = ends_[side];
    if (self.error == 0) {
        self.error = error;
    }
    out_of(side).drop_travelling();
    serve_reader(side);
    serve_writer(side);
    serve_watcher(side);
}

void connection::bytes_hit_nobody(int side) noexcept {
    answer_with_reset(side);
}

void connection::answer_with_reset(int side) noexcept {
    if (!ends_[side].reset_sent) {
        ends_[side].reset_sent = true;
        out_of(side).send_reset();
    }
}

void connection::end_came(int side) noexcept {
    ends_[side].end_seen = true;
    serve_reader(side);
    serve_watcher(side);
}

void connection::reset_came(int side) noexcept {
    if (ends_[side].is_closed || ends_[side].error != 0) {
        return;
    }
    count_reset();
    if (network_->random.chance(0.5)) {
        into(side).drop_unread();
    }
    fail(side, ECONNRESET);
}

void connection::cut() noexcept {
    count_reset();
    for (const int side : {0, 1}) {
        into(side).drop_travelling();
        if (network_->random.chance(0.5)) {
            into(side).drop_unread();
        }
    }
    fail(0, ECONNRESET);
    fail(1, ECONNRESET);
}

void connection::break_off(int side) noexcept {
    if (ends_[side].error != 0) {
        return;
    }
    count_reset();
    ends_[side].error = ECONNRESET;
    answer_with_reset(side);
    serve_reader(side);
    serve_writer(side);
    serve_watcher(side);
}

void connection::time_out(int side) noexcept {
    ++network_->stats.timed_out;
    network_->note(name(side) + " gave up on " + name(1 - side));
    fail(side, ETIMEDOUT);
}

void connection::count_reset() noexcept {
    if (!was_reset_) {
        was_reset_ = true;
        ++network_->stats.resets;
        network_->note("reset between " + name(0) + " and " + name(1));
    }
}

void connection::resume_travel() noexcept {
    pipes_[0].resume_travel();
    pipes_[1].resume_travel();
}

}  // namespace weir::testing::sim
