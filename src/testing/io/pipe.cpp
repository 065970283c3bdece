// SPDX-License-Identifier: MIT
// Bytes stay in one string from the moment they are sent until they are read. Segments define how
// far the end of the arrived bytes moves, and when; faults change times only, never the bytes or
// their order.

#include "testing/io/connection.hpp"

#include <algorithm>
#include <cstring>

namespace weir::testing::sim {

namespace {

std::int64_t time_now() noexcept {
    loop* const here = loop::current_or_null();
    return here != nullptr ? here->now().time_since_epoch().count() : 0;
}

}  // namespace

pipe::~pipe() {
    owner_.network().stats.bytes_lost += bytes_.size() - begin_;
    stop_timer();
}

std::size_t pipe::room() const noexcept {
    const std::size_t used = bytes_.size() - begin_;
    const std::size_t window = owner_.path().options().window;
    return window > used ? window - used : 0;
}

void pipe::send(io::const_bytes data) {
    network_core& network = owner_.network();
    network.stats.bytes_sent += data.size();
    while (!data.empty()) {
        const link_options& options = owner_.path().options();
        std::size_t size = std::min(options.segment, data.size());
        if (network.random.chance(options.splits)) {
            size = 1 + network.random.below(size);
        }
        const std::uint64_t sent = owner_.count_sent(size);
        if (network.random.chance(options.resets) ||
            (options.reset_after != 0 && sent > options.reset_after)) {
            send_mark(mark::cut);
        }
        bytes_.append(data.first(size).text());
        ++network.stats.segments;
        segments_.push_back({arrival_of(size), size, mark::bytes});
        data = data.after(size);
    }
    catch_up();
}

void pipe::send_mark(mark kind) {
    segments_.push_back({arrival_of(0), 0, kind});
    catch_up();
}

std::int64_t pipe::arrival_of(std::size_t size) {
    link& path = owner_.path();
    network_core& network = owner_.network();
    const link_options& options = path.options();
    std::int64_t due = time_now();
    if (options.bandwidth > 0) {
        // Each direction of a link has its own bandwidth, which its connections share.
        std::int64_t& free_at = path.free_at[owner_.way(from_)];
        free_at = std::max(free_at, due) +
                  static_cast<std::int64_t>(static_cast<double>(size) * 1e9 / options.bandwidth);
        due = free_at;
    }
    due += options.latency.count() + network.random.up_to(options.jitter).count();
    if (network.random.chance(options.stalls)) {
        due += network.random.up_to(options.stall).count();
        ++network.stats.stalls;
    }
    last_due_ = std::max(last_due_, due);
    return last_due_;
}

std::size_t pipe::take(io::bytes into) noexcept {
    network_core& network = owner_.network();
    std::size_t count = std::min(into.size(), arrived_);
    if (count > 1 && network.random.chance(owner_.path().options().short_reads)) {
        count = 1 + network.random.below(count - 1);
        ++network.stats.short_reads;
    }
    std::memcpy(into.data(), bytes_.data() + begin_, count);
    erase(0, count);
    arrived_ -= count;
    network.stats.bytes_read += count;
    return count;
}

void pipe::erase(std::size_t from, std::size_t count) noexcept {
    if (from == 0) {
        begin_ += count;
    } else {
        bytes_.erase(begin_ + from, count);
    }
    if (begin_ == bytes_.size()) {
        bytes_.clear();
        begin_ = 0;
    } else if (begin_ > bytes_.size() / 2 && begin_ > 4096) {
        bytes_.erase(0, begin_);
        begin_ = 0;
    }
}

void pipe::drop_unread() noexcept {
    owner_.network().stats.bytes_lost += arrived_;
    erase(0, arrived_);
    arrived_ = 0;
}

void pipe::drop_travelling() noexcept {
    const std::size_t travelling = bytes_.size() - begin_ - arrived_;
    owner_.network().stats.bytes_lost += travelling;
    erase(arrived_, travelling);
    segments_.clear();
    stop_timer();
}

void pipe::resume_travel() noexcept {
    give_up_at_ = 0;
    const std::int64_t earliest = time_now() + owner_.path().options().latency.count();
    for (segment& each : segments_) {
        each.due = std::max(each.due, earliest);
    }
    last_due_ = std::max(last_due_, earliest);
    arm_for_first();
}

void pipe::catch_up() noexcept {
    if (!segments_.empty() && !is_armed()) {
        arm_for_first();
    }
}

void pipe::arm_for_first() noexcept {
    if (!segments_.empty()) {
        arm_at(segments_.front().due);
    }
}

void pipe::arm_at(std::int64_t when) noexcept {
    stop_timer();
    home_ = loop::current_or_null();
    if (home_ != nullptr) {
        home_lives_ = home_->mail();
        home_->arm(*this, clock::time_point(clock::duration(when)));
    }
}

void pipe::stop_timer() noexcept {
    if (is_armed() && !home_lives_.expired()) {
        home_->disarm(*this);
    }
}

void pipe::fire() noexcept {
    const int to = 1 - from_;
    const std::int64_t now = time_now();
    if (!owner_.path().healed.is_set()) {
        if (give_up_at_ == 0) {
            give_up_at_ = detail::after(clock::time_point(clock::duration(now)),
                                        owner_.network().options.give_up_after)
                              .time_since_epoch()
                              .count();
            arm_at(give_up_at_);
        } else {
            owner_.time_out(from_);
        }
        return;
    }
    bool has_bytes = false;
    while (!segments_.empty() && segments_.front().due <= now) {
        const segment next = segments_.front();
        segments_.pop_front();
        switch (next.kind) {
            case mark::bytes:
                if (owner_.takes_bytes(to)) {
                    arrived_ += next.size;
                    has_bytes = true;
                } else {
                    owner_.network().stats.bytes_lost += next.size;
                    erase(arrived_, next.size);
                    owner_.bytes_hit_nobody(to);
                }
                break;
            case mark::end:
                owner_.end_came(to);
                break;
            case mark::reset:
                owner_.reset_came(to);
                break;
            case mark::cut:
                owner_.cut();
                return;
        }
    }
    if (has_bytes) {
        owner_.bytes_came(to);
    }
    catch_up();
}

}  // namespace weir::testing::sim
