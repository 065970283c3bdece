// SPDX-License-Identifier: MIT
// One task accepts connections while there is room, and makes room by ending those that have been
// idle for longest; each connection is a child of the server's group. A new descriptor has the
// lowest free number, so the number of an accepted socket shows how many are left. A stop of the
// accepting task reaches `finally` first, which drains while the group and its children still live,
// and then the group, which stops the connections that are left.

#include <weir/error.hpp>
#include <weir/finally.hpp>
#include <weir/group.hpp>
#include <weir/io/error.hpp>
#include <weir/io/serve.hpp>
#include <weir/loop.hpp>
#include <weir/scope.hpp>
#include <weir/sync/event.hpp>
#include <weir/sync/semaphore.hpp>
#include <weir/time.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string>

namespace weir::tcp::detail {

namespace {

// Is accept() worth another try? accept(2) passes on errors of the connection itself, and fails
// while the system is short of a resource; the listener is not affected.
bool is_transient(int error) noexcept {
    switch (error) {
        case EMFILE:
        case ENFILE:
        case ENOBUFS:
        case ENOMEM:
        case ENETDOWN:
        case EPROTO:
        case ENOPROTOOPT:
        case EHOSTDOWN:
        case ENONET:
        case EHOSTUNREACH:
        case ENETUNREACH:
        case EPERM:
            return true;
        default:
            return false;
    }
}

int last_descriptor(std::size_t spare) noexcept {
    rlimit found{};
    if (::getrlimit(RLIMIT_NOFILE, &found) != 0 || found.rlim_cur > INT_MAX) {
        return INT_MAX;
    }
    const auto limit = static_cast<std::size_t>(found.rlim_cur);
    return static_cast<int>(limit - std::min(spare, limit / 4) - 1);
}

// The peer went away, which is no failure of the handler.
bool is_disconnect(const std::error_code& code) noexcept {
    return code == std::errc::connection_reset || code == std::errc::broken_pipe ||
           code == std::errc::not_connected || code == std::errc::timed_out;
}

}  // namespace

class server {
public:
    server(io::listener listener, handler_function handler, const serve_options& options)
        : listener_(std::move(listener)),
          handler_(std::move(handler)),
          options_(options),
          stats_(options.stats != nullptr ? *options.stats : own_stats_),
          room_(static_cast<std::ptrdiff_t>(
              std::min<std::size_t>(options.max_connections, PTRDIFF_MAX))),
          last_descriptor_(last_descriptor(options.spare_descriptors)) {}

    task<> run() {
        std::exception_ptr
            failure;  // of the listener; passed around the group, which would wrap it
        auto body = [&](task_group& connections) -> task<> {
            auto drained = [this] { return drain(); };
            try {
                co_await finally(accept_all(connections), drained);
            } catch (...) {
                failure = std::current_exception();
                connections.cancel();
            }
        };
        co_await with_group(body);
        if (failure != nullptr) {
            std::rethrow_exception(failure);
        }
    }

private:
    // Counts a connection from its acceptance on: its task may begin after a drain has begun.
    class counted_connection {
    public:
        counted_connection(server& owner, semaphore::permit room) noexcept
            : owner_(&owner), room_(std::move(room)) {
            ++owner.present_;
        }
        counted_connection(counted_connection&& moved) noexcept
            : owner_(std::exchange(moved.owner_, nullptr)), room_(std::move(moved.room_)) {}
        counted_connection& operator=(counted_connection&&) = delete;
        ~counted_connection() {
            if (owner_ != nullptr) {
                --owner_->present_;
                owner_->one_ended_.set();
            }
        }

    private:
        server* owner_;
        semaphore::permit room_;
    };

    // A session in the list of the server while its handler runs.
    class listed_session : public weir::detail::list_link<> {
    public:
        explicit listed_session(server& owner) noexcept
            : own(owner.options_.control), owner_(owner) {
            owner.sessions_.push_back(*this);
            ++owner.stats_.active;
            if (owner.is_draining_) {
                own.drain();
            }
        }
        listed_session(const listed_session&) = delete;
        listed_session& operator=(const listed_session&) = delete;
        ~listed_session() {
            unlink();
            --owner_.stats_.active;
        }

        session own;

    private:
        server& owner_;
    };

    // The scope in which the server accepts, known to its control.
    class controlled_scope {
    public:
        explicit controlled_scope(serve_control* control) : control_(control) {
            if (control_ != nullptr) {
                control_->attach(&scope);
            }
        }
        controlled_scope(const controlled_scope&) = delete;
        controlled_scope& operator=(const controlled_scope&) = delete;
        ~controlled_scope() {
            if (control_ != nullptr) {
                control_->attach(nullptr);
            }
        }

        cancel_scope scope;

    private:
        serve_control* control_;
    };

    task<> accept_all(task_group& connections) {
        {
            controlled_scope accepting(options_.control);
            co_await accepting.scope.run(accept_each(connections));
        }
        listener_.close();  // the control has asked for it
        co_await sleep_forever();
    }

    task<> accept_each(task_group& connections) {
        for (;;) {
            if (room_.value() == 0) {
                end_idle("at max_connections");
            }
            semaphore::permit room = co_await room_.acquire();
            io::socket arrived = co_await next_connection();
            const int number = arrived.fd();
            connections.spawn(
                serve_one(std::move(arrived), counted_connection(*this, std::move(room))));
            if (number >= last_descriptor_) {
                co_await wait_for_descriptors();
            }
        }
    }

    task<> wait_for_descriptors() {
        constexpr clock::duration pause = std::chrono::seconds(1);
        co_await yield();  // the connection that was accepted last registers
        for (;;) {
            one_ended_.clear();
            end_idle("short of descriptors");
            cancel_scope limit(pause);
            co_await limit.run(one_ended_.wait());
            if (has_descriptors()) {
                co_return;
            }
        }
    }

    bool has_descriptors() const noexcept {
        const int free = ::fcntl(listener_.fd(), F_DUPFD_CLOEXEC, 0);
        if (free >= 0) {
            ::close(free);
        }
        return free >= 0 && free < last_descriptor_;
    }

    // Ends the connection that has been idle for longest.
    void end_idle(const char* reason) {
        listed_session* found = nullptr;
        clock::time_point oldest = clock::time_point::max();
        for (listed_session& each : sessions_) {
            const std::optional<clock::time_point> since = each.own.idle_since();
            if (!each.own.is_draining() && since.has_value() && *since < oldest) {
                oldest = *since;
                found = &each;
            }
        }
        if (found != nullptr) {
            found->own.drain();
            ++stats_.idle_ended;
        }
        report_shortage(reason);
    }

    // Once in ten seconds.
    void report_shortage(const char* reason) {
        constexpr clock::duration interval = std::chrono::seconds(10);
        if (options_.on_shortage != nullptr && now() >= next_report_) {
            next_report_ = now() + interval;
            options_.on_shortage("the server is " + std::string(reason) + " with " +
                                 std::to_string(present_) +
                                 " connections: it ends idle ones to make room, " +
                                 std::to_string(stats_.idle_ended) + " so far");
        }
    }

    task<io::socket> next_connection() {
        constexpr clock::duration shortest = std::chrono::milliseconds(10);
        constexpr clock::duration longest = std::chrono::seconds(1);
        for (clock::duration pause = shortest;; pause = std::min(2 * pause, longest)) {
            try {
                co_return co_await listener_.accept();
            } catch (const io_error& error) {
                if (!is_transient(error.code().value())) {
                    throw;
                }
                ++stats_.accept_errors;
                end_idle("short of resources");
            }
            // Retry early when a connection ends, since that frees a descriptor.
            one_ended_.clear();
            cancel_scope limit(weir::detail::after(now(), pause));
            co_await limit.run(one_ended_.wait());
        }
    }

    task<> serve_one(io::socket peer, [[maybe_unused]] counted_connection present) {
        listed_session listed(*this);
        ++stats_.accepted;
        try {
            if (options_.no_delay) {
                peer.set_no_delay(true);
            }
            co_await handler_(std::move(peer), listed.own);
        } catch (const io_error& error) {
            if (!is_disconnect(error.code())) {
                report_failure();
            }
        } catch (...) {
            report_failure();
        }
    }

    void report_failure() noexcept {
        ++stats_.failed;
        loop::current().tell(
            {report_kind::suppressed_error,
             "the handler of a connection failed: " + describe(std::current_exception()),
             std::current_exception(),
             {},
             {}});
    }

    task<> drain() {
        listener_.close();
        is_draining_ = true;
        for (listed_session& each : sessions_) {
            each.own.drain();
        }
        cancel_scope limit(weir::detail::after(now(), options_.drain_deadline));
        co_await limit.run(all_ended());
        stats_.cut_off += present_;
    }

    task<> all_ended() {
        while (present_ > 0) {
            one_ended_.clear();
            co_await one_ended_.wait();
        }
    }

    io::listener listener_;
    handler_function handler_;
    serve_options options_;
    server_stats own_stats_;
    server_stats& stats_;
    semaphore room_;
    event one_ended_;
    weir::detail::intrusive_list<listed_session> sessions_;
    std::size_t present_ = 0;
    bool is_draining_ = false;
    const int last_descriptor_;  // sockets up to this number leave enough free
    clock::time_point next_report_ = clock::time_point::min();
};

void check(const serve_options& options) {
    if (options.max_connections == 0) {
        throw invalid_argument("serve: max_connections is 0; it must be at least 1");
    }
    if (options.drain_deadline < clock::duration::zero()) {
        throw invalid_argument("serve: drain_deadline is negative");
    }
}

task<> serve(io::listener listener, handler_function handler, serve_options options) {
    if (!listener.is_open()) {
        throw invalid_state("serve: the listener is closed");
    }
    server own(std::move(listener), std::move(handler), options);
    co_await own.run();
}

task<> serve(io::address at, handler_function handler, serve_options options) {
    server own(io::listen(at, options.listen), std::move(handler), options);
    co_await own.run();
}

}  // namespace weir::tcp::detail
