// SPDX-License-Identifier: MIT
// libcurl's multi interface on our loop: its sockets are watched by the driver, its timeouts are a
// timer.
#pragma once

#include <weir/base/timer_wheel.hpp>
#include <weir/driver.hpp>
#include <weir/loop.hpp>

#include <curl/curl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace weir::http::detail {

// The owner configures the multi handle that it is given by opened(), adds and removes easy
// handles, and is told of those that are done when libcurl has returned. Nothing here is to be
// called from libcurl's callbacks but own_socket() and close_socket().
class curl_multi : private weir::detail::timer {
public:
    curl_multi(const curl_multi&) = delete;
    curl_multi& operator=(const curl_multi&) = delete;

    // Looks at each.
    std::size_t open_sockets() const noexcept;
    std::uint64_t sockets_opened() const noexcept { return opened_; }

protected:
    curl_multi() noexcept = default;
    ~curl_multi();

    // Throws loop_error if no loop runs or it knows no descriptors, invalid_state if it is another
    // one than before and that is not closed.
    void bind_to_loop();
    // The loop, and null when there is none.
    loop* home() const noexcept { return home_; }
    // libcurl is at work: what is called now is called by it, and must not call it back.
    bool is_calling() const noexcept { return is_calling_; }
    // The time when libcurl was last called: close enough for its callbacks.
    clock::time_point called_at() const noexcept { return called_at_; }

    // What can be sent at once is sent. Throws std::bad_alloc.
    void add(CURL* easy);
    void remove(CURL* easy) noexcept;
    void pause(CURL* easy, int what) noexcept;
    // Closes all connections, and lets go of the loop.
    void shut_down() noexcept;

    // The one way to open a socket: CURL_SOCKET_BAD if there are no more descriptors.
    curl_socket_t own_socket(const curl_sockaddr& wanted) noexcept;
    static int close_socket(void* self, curl_socket_t fd) noexcept;

    // For libcurl's callbacks too: can anything be read from the connection that has this port of
    // ours? libcurl does not tell which descriptor it uses. If several have that port: from any of
    // them.
    bool is_readable(int local_port) noexcept;

    virtual void opened(CURLM* multi) noexcept = 0;
    // It is removed already.
    virtual void transfer_ended(CURL* easy, CURLcode result) noexcept = 0;
    // All transfers are to be removed now: the loop closes.
    virtual void end_all() noexcept = 0;

private:
    // The clients of a loop, which let go of it when it closes.
    class registry;

    struct watched_socket;
    struct direction final : fd_watch {
        watched_socket* of = nullptr;
        bool is_wanted = false;
        bool is_watched = false;
        void fd_ready() noexcept override;
    };
    struct watched_socket {
        curl_multi* owner = nullptr;
        int fd = -1;
        direction reading;
        direction writing;
        std::uint64_t cookie = 0;  // of the kernel, for the socket that was opened with this number
        int ready = 0;             // what libcurl is to be told
        bool is_listed = false;    // among the ready ones
        bool is_changed = false;   // in the list of those to look at
    };

    static int on_socket(CURL* easy, curl_socket_t fd, int what, void* self, void* unused) noexcept;
    static int on_timer(CURLM* multi, long milliseconds, void* self) noexcept;

    watched_socket& socket(int fd);
    void want(int fd, bool readable, bool writable);
    void note_change(watched_socket& of) noexcept;
    void forget_watches(watched_socket& of) noexcept;
    void update(watched_socket& of, readiness which, direction& watched) noexcept;
    void wake_up(clock::time_point when) noexcept;
    void enter() noexcept;
    void fire() noexcept override;
    // After every call of libcurl: what has ended, what is to be watched.
    void settle() noexcept;

    CURLM* multi_ = nullptr;
    loop* home_ = nullptr;
    registry* listed_in_ = nullptr;
    fd_driver* driver_ = nullptr;
    std::vector<std::unique_ptr<watched_socket>> sockets_;  // by descriptor
    std::vector<std::uint16_t> ports_;                      // ours, by descriptor; 0: not known
    std::vector<watched_socket*> changed_;
    std::vector<watched_socket*> ready_;
    clock::time_point due_ = clock::time_point::max();  // when libcurl wants to be called
    clock::time_point called_at_{};
    std::uint64_t opened_ = 0;
    bool is_calling_ = false;     // libcurl has not returned
    bool has_new_ports_ = false;  // some may be known by now
};

}  // namespace weir::http::detail
