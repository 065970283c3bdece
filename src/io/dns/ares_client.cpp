// SPDX-License-Identifier: MIT
// c-ares reports which of its sockets it wants to read or write (on_socket_state), and
// ares_process_fd() passes the ready ones to it. A watch that fires only marks its socket and makes
// the timer due: c-ares is called from the timer alone, never in the middle of the driver's work.
// The same timer serves the timeouts of c-ares and of the owner.
//
// Features of c-ares 1.18 that are not used: EDNS (with an old server only the first of two
// questions in flight is repeated without it), search domains, and questions for both families at
// once (an answer for one is dropped if that for the other is broken, and 'no data' wins over a
// failure).

#include "io/dns/ares_client.hpp"

#include <weir/error.hpp>

#include <algorithm>
#include <utility>

namespace weir::dns::detail {

class ares_client::registry final : public loop_service {
public:
    explicit registry(loop&) noexcept {}
    ~registry() override {
        for (ares_client* each : clients_) {
            each->loop_closes();
        }
    }
    void add(ares_client& bound) {
        clients_.push_back(&bound);
        bound.listed_in_ = this;
    }
    void remove(ares_client& gone) noexcept { std::erase(clients_, &gone); }

private:
    std::vector<ares_client*> clients_;
};

ares_client::ares_client(const resolver_options& options)
    : configuration_(options),
      channel_(configuration_.open_channel(&ares_client::on_socket_state, this)) {}

ares_client::~ares_client() {
    shut_down();
    if (listed_in_ != nullptr) {
        listed_in_->remove(*this);
    }
}

void ares_client::shut_down() noexcept {
    if (channel_ == nullptr) {
        return;
    }
    ares_destroy(channel_);
    channel_ = nullptr;
    if (is_armed()) {
        home_->disarm(*this);
    }
}

void ares_client::loop_closes() noexcept {
    ares_cancel(channel_);  // closes the sockets as well
    forget_all();
    if (is_armed()) {
        home_->disarm(*this);
    }
    listed_in_ = nullptr;
    home_ = nullptr;
    driver_ = nullptr;
}

void ares_client::bind_to_loop() {
    loop& current = loop::current();
    if (home_ == nullptr) {
        driver_ = dynamic_cast<fd_driver*>(&current.get_driver());
        if (driver_ == nullptr) {
            throw loop_error(std::string("dns::resolver: the driver '") +
                             current.get_driver().name() + "' has no sockets");
        }
        current.service<registry>().add(*this);
        home_ = &current;
    } else if (home_ != &current) {
        throw invalid_state("dns::resolver: it belongs to another loop");
    }
}

bool ares_client::refresh() noexcept {
    if (!configuration_.has_changed(home_->now())) {
        return false;
    }
    try {
        const ares_channel fresh = configuration_.open_channel(&ares_client::on_socket_state, this);
        ares_destroy(std::exchange(channel_, fresh));
        return true;
    } catch (...) {
        return false;  // the old channel is better than none
    }
}

void ares_client::send_question(const std::string& name, int type, ares_callback callback,
                                void* owner) {
    constexpr int internet = 1;
    // A pending error of a socket (no server listens there) concerns all questions sent through it.
    // Sending another question would consume the error and leave the others to time out.
    for (auto& [fd, watched] : sockets_) {
        watched.reading.is_ready = true;
    }
    process_ready_sockets();
    ares_query(channel_, name.c_str(), internet, type, callback, owner);
}

void ares_client::on_socket_state(void* self, ares_socket_t fd, int readable, int writable) {
    try {
        static_cast<ares_client*>(self)->want(fd, readable != 0, writable != 0);
    } catch (...) {
        // Out of memory for the watch: the question times out.
    }
}

void ares_client::want(int fd, bool readable, bool writable) {
    if (!readable && !writable) {
        forget(fd);
        return;
    }
    watched_socket& entry = sockets_[fd];
    entry.reading.owner = entry.writing.owner = this;
    entry.reading.is_wanted = readable;
    entry.writing.is_wanted = writable;
}

// c-ares closes the socket next.
void ares_client::forget(int fd) noexcept {
    const auto found = sockets_.find(fd);
    if (found == sockets_.end()) {
        return;
    }
    found->second.reading.is_wanted = found->second.writing.is_wanted = false;
    update(fd, readiness::readable, found->second.reading);
    update(fd, readiness::writable, found->second.writing);
    sockets_.erase(found);
}

void ares_client::update(int fd, readiness which, direction& watched) noexcept {
    if (watched.is_watched && !watched.is_wanted) {
        driver_->unwatch(fd, which);
        watched.is_watched = false;
    } else if (watched.is_wanted && !watched.is_watched) {
        try {
            driver_->watch(fd, which, watched);
            watched.is_watched = true;
        } catch (...) {
            // The same.
        }
    }
}

void ares_client::direction::fd_ready() noexcept {
    is_watched = false;
    is_ready = true;
    owner->wake_up();
}

void ares_client::wake_up() noexcept {
    if (is_armed()) {
        home_->disarm(*this);
    }
    home_->arm(*this, home_->now());
}

void ares_client::fire() noexcept {
    if (!process_ready_sockets()) {
        ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    }
    pump();
}

// Processing a socket may close it and open others, so the iteration starts again.
bool ares_client::process_ready_sockets() noexcept {
    bool any = false;
    for (auto each = sockets_.begin(); each != sockets_.end();) {
        auto& [fd, watched] = *each;
        const bool readable = std::exchange(watched.reading.is_ready, false);
        const bool writable = std::exchange(watched.writing.is_ready, false);
        if (!readable && !writable) {
            ++each;
            continue;
        }
        any = true;
        ares_process_fd(channel_, readable ? fd : ARES_SOCKET_BAD, writable ? fd : ARES_SOCKET_BAD);
        each = sockets_.begin();
    }
    return any;
}

void ares_client::pump() noexcept {
    settle();
    for (auto& [fd, watched] : sockets_) {
        update(fd, readiness::readable, watched.reading);
        update(fd, readiness::writable, watched.writing);
    }
    clock::time_point when = next_deadline();
    timeval buffer{};
    if (const timeval* const limit = ares_timeout(channel_, nullptr, &buffer)) {
        // c-ares rounds down to whole milliseconds: add one, so as not to be early.
        const auto delay = std::chrono::seconds(limit->tv_sec) +
                           std::chrono::microseconds(limit->tv_usec) + std::chrono::milliseconds(1);
        when = std::min(when, weir::detail::after(home_->now(), delay));
    }
    if (is_armed()) {
        home_->disarm(*this);
    }
    if (when != clock::time_point::max()) {
        home_->arm(*this, when);
    }
}

}  // namespace weir::dns::detail
