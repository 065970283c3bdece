// SPDX-License-Identifier: MIT
// libcurl's multi interface on a loop: the driver watches its sockets, a timer calls it.
#pragma once

#include "http/curl/curl_sockets.hpp"

#include <weir/base/timer_wheel.hpp>
#include <weir/clock.hpp>
#include <weir/loop.hpp>

#include <curl/curl.h>

namespace weir::http::detail {

// The derived class configures the multi handle in opened(), adds and removes easy handles, and
// learns which are done after libcurl has returned. libcurl's callbacks may use sockets() and
// nothing else of this class that calls libcurl.
class curl_multi : private weir::detail::timer {
public:
    curl_multi(const curl_multi&) = delete;
    curl_multi& operator=(const curl_multi&) = delete;

    // Throws loop_error if no loop runs or its driver supports no descriptors, invalid_state if the
    // client is bound to another loop that has not closed.
    void bind_to_loop();
    // Null if it is not bound.
    loop* home() const noexcept { return home_; }
    // True while libcurl runs: the caller was called by libcurl and must not call it.
    bool is_calling() const noexcept { return is_calling_; }
    // The time at which libcurl was called last; accurate enough for its callbacks.
    clock::time_point called_at() const noexcept { return called_at_; }

    // Starts a transfer, and sends what can be sent at once. Throws std::bad_alloc.
    void add(CURL* easy);
    void remove(CURL* easy) noexcept;
    // As curl_easy_pause.
    void pause(CURL* easy, int directions) noexcept;

    curl_sockets& sockets() noexcept { return sockets_; }
    const curl_sockets& sockets() const noexcept { return sockets_; }
    // For curl_sockets: a socket has become ready.
    void socket_ready() noexcept;

protected:
    curl_multi() noexcept : sockets_(*this) {}
    ~curl_multi();

    // Closes all connections and leaves the loop.
    void shut_down() noexcept;

    virtual void opened(CURLM* multi) noexcept = 0;
    // The easy handle has been removed.
    virtual void transfer_ended(CURL* easy, CURLcode result) noexcept = 0;
    // The loop closes: all transfers must be removed.
    virtual void end_all() noexcept = 0;

private:
    // The clients of a loop, which leave it when it closes.
    class registry;

    static int on_socket(CURL* easy, curl_socket_t fd, int what, void* self, void* unused) noexcept;
    static int on_timer(CURLM* multi, long milliseconds, void* self) noexcept;

    void begin_call() noexcept;
    void end_call() noexcept;
    void report_ended() noexcept;
    void call_at(clock::time_point when) noexcept;
    void fire() noexcept override;

    CURLM* multi_ = nullptr;
    loop* home_ = nullptr;
    registry* registry_ = nullptr;
    curl_sockets sockets_;
    clock::time_point due_ = clock::time_point::max();  // when libcurl wants to be called
    clock::time_point called_at_{};
    bool is_calling_ = false;
};

}  // namespace weir::http::detail
