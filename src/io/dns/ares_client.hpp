// SPDX-License-Identifier: MIT
// c-ares on our loop: its sockets are watched by the driver, its timeouts are a timer of the loop.
#pragma once

#include "io/dns/hosts_file.hpp"

#include <weir/base/timer_wheel.hpp>
#include <weir/driver.hpp>
#include <weir/io/dns.hpp>
#include <weir/loop.hpp>

#include <ares.h>

#include <map>
#include <string>
#include <vector>

namespace weir::dns::detail {

// c-ares calls back from whatever it is called for, also from the sending of a question, and must
// not be closed from there. So callbacks only note what came, and the owner deals with it in
// settle(), when c-ares has returned.
class ares_client : private weir::detail::timer {
public:
    ares_client(const ares_client&) = delete;
    ares_client& operator=(const ares_client&) = delete;

protected:
    explicit ares_client(const resolver_options& options);
    ~ares_client();
    // Calls all callbacks that are outstanding, and lets go of sockets and timer. For the
    // destructor of the owner, which the callbacks lead to.
    void shut_down() noexcept;

    // Throws loop_error if no loop runs or it knows no descriptors, invalid_state if it is another
    // one than before and that is not closed.
    void bind_to_loop();
    // Reads resolv.conf again if it has changed: true then. Only while no question is under way.
    bool refresh() noexcept;
    // The callback may come before this returns. pump() is to follow.
    void ask(const std::string& name, int type, ares_callback callback, void* owner);
    // Settles what came, watches the sockets and sets the timer. Not from a callback.
    void pump() noexcept;

    virtual void settle() noexcept = 0;
    // The loop is closed, all questions have been taken back, and nobody waits.
    virtual void forget_all() noexcept = 0;
    // When to settle even if nothing comes.
    virtual clock::time_point next_deadline() const noexcept = 0;

    // The domains to try a name with few dots in, and how many are not few.
    const std::vector<std::string>& search_domains() const noexcept { return search_; }
    int enough_dots() const noexcept { return enough_dots_; }
    const std::string& server_names() const noexcept { return server_names_; }

private:
    // The clients of a loop, which let go of it when it closes.
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
    void configure();
    void open(bool passes_failures);
    int use_servers();
    void read_configuration();

    std::vector<io::address> servers_;  // as given
    std::string resolv_conf_;
    int timeout_;  // milliseconds
    int tries_;
    file_version configured_;
    clock::time_point next_look_ = clock::time_point::min();
    ares_channel channel_ = nullptr;
    loop* home_ = nullptr;
    registry* listed_in_ = nullptr;
    fd_driver* driver_ = nullptr;
    std::map<int, watched_socket> sockets_;
    std::vector<std::string> search_;
    int enough_dots_ = 1;
    std::string server_names_;
};

}  // namespace weir::dns::detail
