// SPDX-License-Identifier: MIT
// A connection is a group of four tasks: for each direction one that reads pieces and notes when
// they are due, and one that waits until then and passes them on. Between them is a queue with a
// bound, so that a slow receiver slows its sender down through the proxy. A fault that ends the
// connection is an error in one of the four; the group takes the others down, and then both sockets
// are reset.

#include "testing/io/random_source.hpp"

#include <weir/error.hpp>
#include <weir/group.hpp>
#include <weir/io/error.hpp>
#include <weir/io/listener.hpp>
#include <weir/io/socket.hpp>
#include <weir/loop.hpp>
#include <weir/spawn.hpp>
#include <weir/sync/event.hpp>
#include <weir/sync/queue.hpp>
#include <weir/testing/io/fault_proxy.hpp>
#include <weir/time.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace weir::testing {

namespace {

constexpr std::size_t piece_size = 16 << 10;
constexpr std::size_t most_pieces = 64;

struct piece {
    piece(std::string bytes, clock::time_point when) : text(std::move(bytes)), due(when) {}
    std::string text;
    clock::time_point due;
};

struct cut_by_chance {};

void check(const proxy_faults& faults) {
    const auto refuse = [](const char* option, const char* must_be) {
        throw invalid_argument(std::string("fault_proxy: ") + option + " must be " + must_be);
    };
    for (const clock::duration each : {faults.latency, faults.jitter, faults.drip_every}) {
        if (each < clock::duration::zero() || each > std::chrono::hours(24)) {
            refuse("latency, jitter and drip_every", "between 0 and a day");
        }
    }
    if (!(faults.bandwidth == 0 || (faults.bandwidth >= 1 && faults.bandwidth < 1e18))) {
        refuse("bandwidth", "0, or at least 1");
    }
    if (!(faults.resets >= 0 && faults.resets <= 1) ||
        !(faults.refusals >= 0 && faults.refusals <= 1)) {
        refuse("resets and refusals", "between 0 and 1");
    }
}

}  // namespace

// The state of one connection, in the frame of its task.
struct fault_proxy::connection {
    explicit connection(io::socket accepted) : client(std::move(accepted)) {}
    void reset() noexcept {
        client.reset();
        server.reset();
    }

    io::socket client;
    io::socket server;
    std::array<queue<piece>, 2> on_the_way{queue<piece>(most_pieces), queue<piece>(most_pieces)};
    std::uint64_t passed = 0;
};

struct fault_proxy::core {
    core(io::address to, const proxy_faults& initial_faults, std::uint64_t seeded)
        : target(to),
          faults(initial_faults),
          seed(seeded),
          random(seeded),
          accepting(io::listen(io::address::loopback(0))),
          address(accepting.local_address()) {}

    static task<void> serve(std::shared_ptr<core> self);
    static task<void> carry(std::shared_ptr<core> self, io::socket accepted);
    task<void> take_in(io::socket& from, queue<piece>& into);
    task<void> pass_on(connection& passing, queue<piece>& from, io::socket& to);
    task<void> pass_slice(connection& passing, io::socket& to, io::const_bytes slice);

    io::address target;
    proxy_faults faults;
    std::uint64_t seed;
    sim::random_source random;
    io::listener accepting;
    io::address address;
    event changed;  // set for a moment when the faults change
    std::vector<connection*> open;
    proxy_stats stats;
};

task<void> fault_proxy::core::serve(std::shared_ptr<core> self) {
    co_await with_group([&](task_group& group) -> task<> {
        while (self->accepting.is_open()) {
            bool failed = false;
            try {
                io::socket accepted = co_await self->accepting.accept();
                group.spawn(carry(self, std::move(accepted)));
            } catch (const io_error&) {
                failed = true;
            }
            if (failed) {
                co_await sleep(std::chrono::milliseconds(5));  // most likely out of descriptors
            }
        }
    });
}

task<void> fault_proxy::core::carry(std::shared_ptr<core> self, io::socket accepted) {
    connection own(std::move(accepted));
    if (self->random.chance(self->faults.refusals)) {
        ++self->stats.refused;
        own.reset();
        co_return;
    }
    bool is_reached = true;
    try {
        own.server = co_await io::connect(self->target);
        own.client.set_no_delay(true);
        own.server.set_no_delay(true);
    } catch (const io_error&) {
        is_reached = false;
    }
    if (!is_reached) {
        ++self->stats.unreachable;
        own.reset();
        co_return;
    }
    struct registration {
        registration(core& owner, connection& made) : owning(owner), own(made) {
            owning.open.push_back(&own);
        }
        registration(const registration&) = delete;
        registration& operator=(const registration&) = delete;
        ~registration() { std::erase(owning.open, &own); }
        core& owning;
        connection& own;
    };
    const registration listed(*self, own);
    ++self->stats.connections;
    try {
        co_await with_group([&](task_group& group) -> task<> {
            group.spawn(self->take_in(own.client, own.on_the_way[0]));
            group.spawn(self->pass_on(own, own.on_the_way[0], own.server));
            group.spawn(self->take_in(own.server, own.on_the_way[1]));
            group.spawn(self->pass_on(own, own.on_the_way[1], own.client));
            co_return;
        });
    } catch (const error_group&) {
        // A fault, or one end has reset the connection: the other end is reset too.
        own.reset();
    }
}

task<void> fault_proxy::core::take_in(io::socket& from, queue<piece>& into) {
    std::string buffer(piece_size, '\0');
    for (;;) {
        const std::size_t count = co_await from.read(buffer);
        if (count == 0) {
            into.close();
            co_return;
        }
        const clock::duration delay = faults.latency + random.up_to(faults.jitter);
        co_await into.put(piece(buffer.substr(0, count), weir::detail::after(now(), delay)));
    }
}

task<void> fault_proxy::core::pass_on(connection& passing, queue<piece>& from, io::socket& to) {
    for (;;) {
        const std::optional<piece> next = co_await from.next();
        if (!next.has_value()) {
            break;
        }
        if (next->due > now()) {
            co_await sleep_until(next->due);
        }
        if (random.chance(faults.resets)) {
            ++stats.resets;
            throw cut_by_chance();
        }
        io::const_bytes left(next->text);
        while (!left.empty()) {
            while (faults.half_open) {
                co_await changed.wait();
            }
            std::size_t count = left.size();
            if (faults.drip != 0) {
                count = std::min(count, faults.drip);
            }
            if (faults.bandwidth > 0) {  // in steps of about a hundredth of a second
                count = std::min(count, 1 + static_cast<std::size_t>(faults.bandwidth / 100));
            }
            co_await pass_slice(passing, to, left.first(count));
            left = left.after(count);
        }
    }
    while (faults.half_open) {
        co_await changed.wait();
    }
    co_await to.close_write();
}

task<void> fault_proxy::core::pass_slice(connection& passing, io::socket& to,
                                         io::const_bytes slice) {
    const std::uint64_t limit = faults.reset_after;
    const bool is_last = limit != 0 && passing.passed + slice.size() >= limit;
    if (is_last) {
        slice = slice.first(
            limit > passing.passed ? static_cast<std::size_t>(limit - passing.passed) : 0);
    }
    co_await to.write(slice);
    passing.passed += slice.size();
    stats.bytes += slice.size();
    if (is_last) {
        ++stats.resets;
        throw cut_by_chance();
    }
    clock::duration pause{};
    if (faults.drip != 0) {
        pause = faults.drip_every;
    }
    if (faults.bandwidth > 0) {
        pause = std::max(pause, weir::detail::to_nanoseconds(std::chrono::duration<double>(
                                    static_cast<double>(slice.size()) / faults.bandwidth)));
    }
    if (pause > clock::duration::zero()) {
        co_await sleep(pause);
    }
}

fault_proxy::fault_proxy(io::address target, const proxy_faults& faults, std::uint64_t seed) {
    check(faults);
    loop& here = loop::current();
    core_ = std::make_shared<core>(target, faults, seed != 0 ? seed : here.fresh_seed());
    serving_ = here.spawn(core::serve(core_), {.name = "fault_proxy"});
}

fault_proxy::~fault_proxy() {
    if (!serving_.done() && loop::current_or_null() != nullptr) {
        serving_.cancel();
    }
}

io::address fault_proxy::address() const {
    return core_->address;
}

std::uint64_t fault_proxy::seed() const noexcept {
    return core_->seed;
}

void fault_proxy::set(const proxy_faults& faults) {
    check(faults);
    core_->faults = faults;
    core_->changed.set();
    core_->changed.clear();
}

const proxy_faults& fault_proxy::faults() const noexcept {
    return core_->faults;
}

void fault_proxy::reset_all() noexcept {
    for (connection* const each : core_->open) {
        ++core_->stats.resets;
        each->reset();
    }
}

task<void> fault_proxy::close() {
    const std::shared_ptr<core> own = core_;
    const handle<void> serving = serving_;
    own->accepting.close();
    serving.cancel();
    co_await serving.wait();
}

proxy_stats fault_proxy::stats() const noexcept {
    proxy_stats now = core_->stats;
    now.open = core_->open.size();
    return now;
}

}  // namespace weir::testing
