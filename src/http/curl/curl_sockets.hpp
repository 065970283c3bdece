// SPDX-License-Identifier: MIT
// The sockets that libcurl uses: opened and closed for it, and watched by the loop's driver.
#pragma once

#include <weir/clock.hpp>
#include <weir/driver.hpp>

#include <curl/curl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace weir::http::detail {

class curl_multi;

class curl_sockets {
public:
    // The owner is notified when a socket becomes ready.
    explicit curl_sockets(curl_multi& owner) noexcept : owner_(owner) {}
    curl_sockets(const curl_sockets&) = delete;
    curl_sockets& operator=(const curl_sockets&) = delete;

    void bind(fd_driver& driver) noexcept { driver_ = &driver; }
    // Forgets all sockets, which libcurl has closed.
    void unbind() noexcept;

    // For libcurl's callbacks, as is close_callback().
    // Opens a socket; CURL_SOCKET_BAD if that fails.
    curl_socket_t open(const curl_sockaddr& address) noexcept;
    static int close_callback(void* self, curl_socket_t fd) noexcept {
        return static_cast<curl_sockets*>(self)->close(fd);
    }
    // Which events libcurl waits for. Throws std::bad_alloc.
    void set_interest(int fd, bool readable, bool writable);
    // Whether anything can be read from the connection with this local port. libcurl does not tell
    // which descriptor it uses; if several have the port, any of them counts.
    bool is_readable(int local_port) noexcept;
    // When there was last something to read from the connection with this local port.
    clock::time_point last_readable(int local_port) noexcept;

    // After libcurl has returned: brings the watches in line with libcurl's interest.
    void update_watches() noexcept;
    bool has_ready() const noexcept { return !ready_.empty(); }
    // Passes the sockets that are ready to libcurl.
    void dispatch_ready(CURLM* multi, clock::time_point now) noexcept;

    // Sockets opened so far.
    std::uint64_t opened() const noexcept { return opened_; }
    // Sockets open now; costs a system call for each.
    std::size_t count_open() const noexcept;

private:
    struct entry;
    struct direction final : fd_watch {
        entry* socket = nullptr;
        bool is_wanted = false;
        bool is_watched = false;
        void fd_ready() noexcept override;
    };
    struct entry {
        curl_sockets* owner = nullptr;
        int fd = -1;
        direction reading;
        direction writing;
        std::uint64_t cookie = 0;  // the kernel's, of the socket that was opened; 0: closed
        clock::time_point readable_at{};
        int ready = 0;  // events to pass to libcurl
        bool is_ready_listed = false;
        bool is_change_listed = false;
    };

    int close(int fd) noexcept;
    void learn_ports() noexcept;
    entry& entry_of(int fd);
    void note_change(entry& changed) noexcept;
    void update_watch(entry& socket, readiness which, direction& watched) noexcept;
    void forget_watches(entry& socket) noexcept;

    curl_multi& owner_;
    fd_driver* driver_ = nullptr;
    std::vector<std::unique_ptr<entry>> entries_;  // by descriptor
    std::vector<std::uint16_t> ports_;             // local ports by descriptor; 0: unknown
    std::vector<entry*> changed_;
    std::vector<entry*> ready_;
    std::uint64_t opened_ = 0;
    bool has_unknown_ports_ = false;
};

}  // namespace weir::http::detail
