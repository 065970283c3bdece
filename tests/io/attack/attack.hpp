// SPDX-License-Identifier: MIT
// What attacks on cancellation share: seeded choices, and buffers that are watched after their use.
#pragma once

#include "support/io.hpp"

#include <weir/gather.hpp>
#include <weir/group.hpp>
#include <weir/io/error.hpp>
#include <weir/io/listener.hpp>
#include <weir/io/socket.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace attack {

using namespace std::chrono_literals;
using weir::io::address;

class dice {
public:
    explicit dice(unsigned seed) : seed_(seed), random_(seed) {}
    std::size_t below(std::size_t end) { return random_() % end; }
    bool one_in(std::size_t count) { return below(count) == 0; }
    // For the message of an expectation.
    std::string seed() const { return "seed " + std::to_string(seed_); }

private:
    unsigned seed_;
    std::mt19937_64 random_;
};

// A little time: some turns of the loop, or some microseconds.
inline weir::task<> pause(dice& random) {
    const std::size_t turns = random.below(4);
    for (std::size_t turn = 0; turn < turns; ++turn) {
        co_await weir::yield();
    }
    if (random.one_in(3)) {
        co_await weir::sleep(std::chrono::microseconds(random.below(150)));
    }
}

// Sanitizers do not see writes of the kernel. So buffers stay allocated after the task that owned
// them: they are filled with a pattern, and checked again later.
class retired_buffers {
public:
    static constexpr char pattern = static_cast<char>(0xdb);

    void add(std::unique_ptr<char[]> buffer, std::size_t size) {
        std::memset(buffer.get(), pattern, size);
        all_.emplace_back(std::move(buffer), size);
        if (all_.size() > 400) {
            damaged_ += damage(all_.front());
            all_.pop_front();
        }
    }
    // How many were written to after their use; forgets them.
    std::size_t take_damaged() {
        for (const one& each : all_) {
            damaged_ += damage(each);
        }
        all_.clear();
        return std::exchange(damaged_, 0);
    }

private:
    using one = std::pair<std::unique_ptr<char[]>, std::size_t>;
    static std::size_t damage(const one& of) {
        return std::all_of(of.first.get(), of.first.get() + of.second,
                           [](char each) { return each == pattern; })
                   ? 0
                   : 1;
    }

    std::deque<one> all_;
    std::size_t damaged_ = 0;
};
inline retired_buffers retired;

// A buffer of a task, in its frame: retired when the task leaves it, by a stop too.
class lent {
public:
    explicit lent(std::size_t size) : data_(new char[size]()), size_(size) {}
    lent(lent&& other) noexcept = default;
    ~lent() {
        if (data_ != nullptr) {
            retired.add(std::move(data_), size_);
        }
    }
    char* begin() { return data_.get(); }
    char* end() { return data_.get() + size_; }
    weir::io::bytes all() { return {reinterpret_cast<std::byte*>(data_.get()), size_}; }
    std::string_view first(std::size_t count) const { return {data_.get(), count}; }

private:
    std::unique_ptr<char[]> data_;
    std::size_t size_;
};

// The byte at a position of a stream that is checked.
inline char content(std::size_t position) {
    return static_cast<char>(position * 131 + position / 253 * 7);
}
inline void fill(lent& buffer, std::size_t position) {
    for (char& each : buffer) {
        each = content(position++);
    }
}
inline bool is_content(std::string_view text, std::size_t position) {
    return std::all_of(text.begin(), text.end(),
                       [&](char each) { return each == content(position++); });
}

struct both_ends {
    weir::io::socket left;
    weir::io::socket right;
};

inline both_ends unix_pair() {
    int fds[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
        throw weir::io_error(errno, "socketpair");
    }
    return {weir::io::socket(fds[0]), weir::io::socket(fds[1])};
}
inline weir::task<both_ends> tcp_pair() {
    weir::io::listener listener = weir::io::listen(address::loopback(0));
    auto arriving = weir::spawn(weir::io::connect(listener.local_address()));
    both_ends made;
    made.left = co_await listener.accept();
    made.right = co_await std::move(arriving);
    co_return made;
}
inline weir::task<both_ends> some_pair(dice& random) {
    if (random.one_in(2)) {
        co_return unix_pair();
    }
    co_return co_await tcp_pair();
}

// Lets the task run for a random time, from none at all, then stops it; or lets it end.
inline weir::task<> disturb(weir::any_handle victim, dice& random, bool may_end = true) {
    if (!may_end || !random.one_in(4)) {
        if (!random.one_in(4)) {
            co_await pause(random);
        }
        victim.cancel();
        if (random.one_in(3)) {
            co_await weir::yield();
            victim.cancel();
        }
    }
    co_await victim.wait();
}

// Turns of the loop in which a late completion would come.
inline weir::task<> expect_no_damage(const dice& random) {
    for (int turn = 0; turn < 3; ++turn) {
        co_await weir::sleep(100us);
    }
    EXPECT_EQ(retired.take_damaged(), 0u) << random.seed();
}

}  // namespace attack
