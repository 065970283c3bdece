// SPDX-License-Identifier: MIT
// Notices that a client has left while its request is being answered, and stops the work.
//
// A closed connection and a client that has only ended its own direction, and waits for the
// response, look the same: an end of the stream. They are told apart by time. A client that ends
// its direction on purpose does so right behind its request; an end that comes later is a
// departure. A reset is a departure at any time.
//
// A request that is answered soon costs a counter here. One timer, armed once for many requests,
// sees which request is the same as the last time it looked; for that one a task waits for the end
// of the connection. The task stays until the connection ends, so that further slow requests cost
// nothing more. After a half-close no event announces a reset (io_uring reports the half-close
// again and again), so the timer looks for it.
#pragma once

#include "http/server/request_reader.hpp"

#include <weir/base/timer_wheel.hpp>
#include <weir/clock.hpp>
#include <weir/handle.hpp>
#include <weir/io/byte_stream.hpp>
#include <weir/loop.hpp>
#include <weir/scope.hpp>
#include <weir/task.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <new>

namespace weir::http::detail {

template <io::byte_stream Stream>
class client_watch final : private weir::detail::timer {
public:
    // `work` is stopped when the client leaves. `grace`: how long a request is left alone;
    // clock::duration::max(): for ever.
    client_watch(Stream& stream, const request_reader<Stream>& reader, cancel_scope& work,
                 clock::duration grace) noexcept
        : stream_(stream), reader_(reader), work_(work), grace_(grace) {}
    client_watch(const client_watch&) = delete;
    client_watch& operator=(const client_watch&) = delete;
    ~client_watch() {
        if (is_armed()) {
            home_->disarm(*this);
        }
    }

    // Around the work for a request.
    void begin() {
        ++request_;
        is_answering_ = true;
        if (!is_armed() && grace_ != clock::duration::max()) {
            arm(grace_);
        }
    }
    void end() noexcept { is_answering_ = false; }

    // Waits until the stream is not in use here any more.
    task<> stop() {
        end();
        if (waiting_) {
            waiting_.cancel();
            co_await waiting_.wait();
            waiting_ = {};
        }
    }

private:
    static constexpr clock::duration reset_check = std::chrono::seconds(1);

    void arm(clock::duration delay) noexcept {
        home_ = &loop::current();
        home_->arm(*this, weir::detail::after(home_->now(), delay));
    }

    void fire() noexcept override {
        if (!is_answering_) {
            return;
        }
        // Before the body has been read, an end is perhaps what follows the body.
        const std::uint64_t ready = reader_.is_body_done() ? request_ : 0;
        if (ready == 0 || seen_ != ready) {
            seen_ = ready;
            arm(grace_);
            return;
        }
        switch (stream_.peer_closure()) {
            case io::closure::none:
                expect_departure();
                break;
            case io::closure::sending:
                arm(std::max(grace_, reset_check));
                break;
            case io::closure::both:
                stop_work();
                break;
        }
    }

    void expect_departure() noexcept {
        watched_ = request_;
        if (waiting_) {
            return;
        }
        try {
            waiting_ = home_->spawn(wait_for_departure(), {.name = "http client watch"});
        } catch (const std::bad_alloc&) {
            // without the watch, the departure is noticed when the response is written
        }
    }

    task<> wait_for_departure() {
        try {
            co_await stream_.until_peer_closes();
        } catch (const std::exception&) {
            // the connection has failed
        }
        const bool is_departure =
            watched_ == request_ || stream_.peer_closure() == io::closure::both;
        if (is_answering_ && is_departure) {
            stop_work();
        }
    }

    void stop_work() { work_.cancel("the client has disconnected"); }

    Stream& stream_;
    const request_reader<Stream>& reader_;
    cancel_scope& work_;
    clock::duration grace_;
    loop* home_ = nullptr;
    handle<void> waiting_;
    std::uint64_t request_ = 0;  // the number of requests so far
    std::uint64_t seen_ = 0;     // the request that the timer saw last, its body read
    std::uint64_t watched_ = 0;  // the request that an end of the client's direction stops
    bool is_answering_ = false;
};

}  // namespace weir::http::detail
