// SPDX-License-Identifier: MIT
// c-ares on the loop: the driver watches its sockets, and a timer of the loop serves its timeouts.
#pragma once

#include "io/dns/ares_configuration.hpp"

#include <weir/base/timer_wheel.hpp>
#include <weir/driver.hpp>
#include <weir/io/dns.hpp>
#include <weir/loop.hpp>

#include <ares.h>

#include <map>
#include <string>

namespace weir::dns::detail {

// c-ares may call back from any of its functions, also while a question is sent, and must not be
// closed from a callback. So callbacks only record what happened, and the owner acts on it in
// settle(), when c-ares has returned.
class ares_client : private weir::detail::timer {
public:
    ares_client(const ares_client&) = delete;
    ares_client& operator=(const ares_client&) = delete;

protected:
    explicit ares_client(const resolver_options& options);
    ~ares_client();
    // Calls all outstanding callbacks and gives up sockets and timer. For the destructor of the
    // owner, while the callbacks can still reach it.
    void shut_down() noexcept;

    // Throws loop_error if no loop runs or its driver has no descriptors, invalid_state if the
    // client belongs to another loop that is still open.
    void bind_to_loop();
    // Reads resolv.conf again if it has changed, and returns true then. Only while no question is
    // in flight.
    bool refresh() noexcept;
    // The callback may be called before this returns. Call pump() afterwards.
    void send_question(const std::string& name, int type, ares_callback callback, void* owner);
    // Calls settle(), watches the sockets and sets the timer. Not from a callback.
    void pump() noexcept;

    virtual void settle() noexcept = 0;
    // The loop is closed, all questions are cancelled, and no fiber waits.
    virtual void forget_all() noexcept = 0;
    // When to call settle() even if no answer arrives.
    virtual clock::time_point next_deadline() const noexcept = 0;

    const ares_configuration& configuration() const noexcept { return configuration_; }

private:
    // The clients of a loop. The loop notifies them when it closes.
    class registry;

    struct direction final : fd_watch {
        ares_client* owner = nullptr;
        bool is_wanted = false;
        bool is_watched = false;
        bool is_ready = false;
        void fd_ready() noexcept override;
    };
    struct watched_socket {
        direction reading;
        direction writing;
    };

    static void on_socket_state(void* self, ares_socket_t fd, int readable, int writable);
    void want(int fd, bool readable, bool writable);
    void forget(int fd) noexcept;
    void update(int fd, readiness which, direction& watched) noexcept;
    bool process_ready_sockets() noexcept;
    void wake_up() noexcept;
    void fire() noexcept override;

    void loop_closes() noexcept;

    ares_configuration configuration_;
    ares_channel channel_;
    loop* home_ = nullptr;
    registry* listed_in_ = nullptr;
    fd_driver* driver_ = nullptr;
    std::map<int, watched_socket> sockets_;
};

}  // namespace weir::dns::detail
