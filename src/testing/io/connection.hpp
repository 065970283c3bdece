// SPDX-License-Identifier: MIT
// A simulated connection: two pipes, one for each direction, and the state of its two ends.
#pragma once

#include "testing/io/network_core.hpp"

#include <weir/base/timer_wheel.hpp>
#include <weir/io/buffer.hpp>
#include <weir/loop.hpp>
#include <weir/testing/io/simulated_stream.hpp>

#include <deque>
#include <memory>
#include <string>

namespace weir::testing::sim {

// Errors of an operation that are no errno.
enum failure : int { already_closed = -1, closed_meanwhile = -2, already_used = -3 };

// One direction of a connection: bytes that travel, and bytes that have arrived and are not read
// yet. Travelling bytes are cut into segments, each with its time of arrival; one timer waits for
// the first.
class pipe final : private weir::detail::timer {
public:
    pipe(connection& owner, int from_side) noexcept : owner_(owner), from_(from_side) {}
    ~pipe();

    // The sender's side.
    std::size_t room() const noexcept;
    void send(io::const_bytes data);  // no more than there is room for
    void send_end() { send_mark(mark::end); }
    void send_reset() { send_mark(mark::reset); }
    // The receiver's side.
    std::size_t unread() const noexcept { return arrived_; }
    std::size_t take(io::bytes into) noexcept;

    void drop_unread() noexcept;
    void drop_travelling() noexcept;
    // Continues after a partition.
    void resume_travel() noexcept;
    // Arms the timer if there was no loop to arm it on before.
    void catch_up() noexcept;

private:
    enum class mark : unsigned char { bytes, end, reset, cut };
    struct segment {
        std::int64_t due;
        std::size_t size;
        mark kind;
    };

    void fire() noexcept override;
    void send_mark(mark kind);
    std::int64_t arrival_of(std::size_t size);
    void arm_for_first() noexcept;
    void arm_at(std::int64_t when) noexcept;
    void stop_timer() noexcept;
    void erase(std::size_t from, std::size_t count) noexcept;

    connection& owner_;
    const int from_;
    std::string bytes_;  // from begin_: first arrived bytes, then travelling ones
    std::size_t begin_ = 0;
    std::size_t arrived_ = 0;
    std::deque<segment> segments_;
    std::int64_t last_due_ = 0;
    std::int64_t give_up_at_ = 0;  // during a partition; 0: none
    loop* home_ = nullptr;         // where the timer is armed
    std::weak_ptr<weir::detail::inbox> home_lives_;
};

class connection {
public:
    connection(std::shared_ptr<network_core> network, link& path, std::string from, std::string to);
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection();
    static std::pair<simulated_stream, simulated_stream> ends_of(
        const std::shared_ptr<connection>& made) {
        return {simulated_stream({made, 0}), simulated_stream({made, 1})};
    }

    // True: the operation is complete, also if it has failed. False: it has to wait.
    bool try_read(reading_operation& reader, int side) noexcept;
    bool try_write(write_operation& writer, int side) noexcept;
    bool try_closure(closure_operation& watcher, int side) noexcept;
    void wait_to_read(reading_operation& reader, int side) noexcept {
        attach(reader, ends_[side].reader);
    }
    void wait_to_write(write_operation& writer, int side) noexcept {
        attach(writer, ends_[side].writer);
    }
    void wait_for_closure(closure_operation& watcher, int side) noexcept {
        attach(watcher, ends_[side].watcher);
    }
    io::closure closure_at(int side) const noexcept;
    int close_write(int side) noexcept;
    void close(int side, bool with_reset) noexcept;

    // Called by the pipes when something arrives at a side.
    bool takes_bytes(int side) const noexcept {
        return !ends_[side].is_closed && ends_[side].error == 0;
    }
    void bytes_came(int side) noexcept { serve_reader(side); }
    void bytes_hit_nobody(int side) noexcept;
    void end_came(int side) noexcept;
    void reset_came(int side) noexcept;
    void cut() noexcept;
    // Fails at this side now; the other side gets what was sent before, and then a reset.
    void break_off(int side) noexcept;
    void time_out(int side) noexcept;
    void resume_travel() noexcept;

    bool is_open(int side) const noexcept { return !ends_[side].is_closed; }
    const std::string& name(int side) const noexcept { return ends_[side].name; }
    link& path() noexcept { return path_; }
    network_core& network() noexcept { return *network_; }
    int way(int from_side) const noexcept { return is_backwards_ ? 1 - from_side : from_side; }
    std::uint64_t count_sent(std::size_t more) noexcept { return sent_ += more; }

private:
    struct end {
        std::string name;
        stream_operation* reader = nullptr;
        stream_operation* writer = nullptr;
        stream_operation* watcher = nullptr;  // for the peer's end
        int error = 0;
        bool is_closed = false;
        bool end_sent = false;
        bool end_seen = false;
        bool reset_sent = false;
    };

    static void attach(stream_operation& waiting, stream_operation*& place) noexcept {
        waiting.place_ = &place;
        place = &waiting;
    }
    void serve_reader(int side) noexcept;
    void serve_writer(int side) noexcept;
    void serve_watcher(int side) noexcept;
    static void finish(stream_operation& done) noexcept;
    void fail(int side, int error) noexcept;
    void answer_with_reset(int side) noexcept;
    void count_reset() noexcept;
    pipe& into(int side) noexcept { return pipes_[1 - side]; }
    pipe& out_of(int side) noexcept { return pipes_[side]; }

    std::shared_ptr<network_core> network_;
    link& path_;
    end ends_[2];
    pipe pipes_[2];
    std::uint64_t sent_ = 0;
    bool was_reset_ = false;
    bool is_backwards_;  // relative to the link, whose hosts are in order
};

}  // namespace weir::testing::sim
