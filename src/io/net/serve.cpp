// SPDX-License-Identifier: MIT
// One task accepts, as long as there is room; each connection is a child of the server's group. A
// stop of the accepting task meets `finally` first, which drains while the group and its children
// still live, and then the group, which stops what is left.

#include <weir/error.hpp>
#include <weir/finally.hpp>
#include <weir/group.hpp>
#include <weir/io/error.hpp>
#include <weir/io/serve.hpp>
#include <weir/loop.hpp>
#include <weir/scope.hpp>
#include <weir/sync/event.hpp>
#include <weir/sync/semaphore.hpp>

#include <algorithm>
#include <cerrno>
#include <string>

namespace weir::tcp::detail {

namespace {

// The listener is all right, and so will be the next connection, perhaps after a while: accept(2)
// hands on errors of the connection itself, and complains when the system is short of something.
bool is_passing(int error) noexcept {
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

// A peer that went away is no failure of the server's.
bool is_departure(const std::error_code& code) noexcept {
    return code == std::errc::connection_reset || code == std::errc::broken_pipe ||
           code == std::errc::not_connected || code == std::errc::timed_out;
}

}  // namespace

class server {
public:
    server(io::listener door, handler_function handler, const serve_options& options)
        : door_(std::move(door)),
          handler_(std::move(handler)),
          options_(options),
          stats_(options.stats != nullptr ? *options.stats : own_stats_),
          room_(static_cast<std::ptrdiff_t>(
              std::min<std::size_t>(options.max_connections, PTRDIFF_MAX))) {}

    task<> run() {
        std::exception_ptr failure;  // of the listener: a group would wrap it
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
    // A connection from when it was accepted: its task may begin after a drain has.
    class arrival {
    public:
        arrival(server& at, semaphore::permit room) noexcept : at_(&at), room_(std::move(room)) {
            ++at.present_;
        }
        arrival(arrival&& moved) noexcept
            : at_(std::exchange(moved.at_, nullptr)), room_(std::move(moved.room_)) {}
        arrival& operator=(arrival&&) = delete;
        ~arrival() {
            if (at_ != nullptr) {
                --at_->present_;
                at_->one_left_.set();
            }
        }

    private:
        server* at_;
        semaphore::permit room_;
    };

    // In the list of sessions while the handler runs.
    class attendance {
    public:
        explicit attendance(server& at) noexcept : at_(at) {
            own.next_ = at.sessions_;
            if (at.sessions_ != nullptr) {
                at.sessions_->previous_ = &own;
            }
            at.sessions_ = &own;
            own.is_draining_ = at.is_draining_;
            ++at.stats_.active;
        }
        attendance(const attendance&) = delete;
        attendance& operator=(const attendance&) = delete;
        ~attendance() {
            (own.previous_ != nullptr ? own.previous_->next_ : at_.sessions_) = own.next_;
            if (own.next_ != nullptr) {
                own.next_->previous_ = own.previous_;
            }
            --at_.stats_.active;
        }

        session own;

    private:
        server& at_;
    };

    task<> accept_all(task_group& connections) {
        for (;;) {
            semaphore::permit room = co_await room_.acquire();
            io::socket arrived = co_await next_connection();
            connections.spawn(attend(std::move(arrived), arrival(*this, std::move(room))));
        }
    }

    task<io::socket> next_connection() {
        constexpr clock::duration shortest = std::chrono::milliseconds(10);
        constexpr clock::duration longest = std::chrono::seconds(1);
        for (clock::duration pause = shortest;; pause = std::min(2 * pause, longest)) {
            try {
                co_return co_await door_.accept();
            } catch (const io_error& error) {
                if (!is_passing(error.code().value())) {
                    throw;
                }
                ++stats_.accept_errors;
            }
            // A connection that ends gives its descriptor back.
            one_left_.clear();
            cancel_scope limit(weir::detail::after(now(), pause));
            co_await limit.run(one_left_.wait());
        }
    }

    task<> attend(io::socket peer, [[maybe_unused]] arrival present) {
        attendance here(*this);
        ++stats_.accepted;
        try {
            if (options_.no_delay) {
                peer.set_no_delay(true);
            }
            co_await handler_(std::move(peer), here.own);
        } catch (const io_error& error) {
            if (!is_departure(error.code())) {
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
        door_.close();
        is_draining_ = true;
        for (session* each = sessions_; each != nullptr; each = each->next_) {
            each->drain();
        }
        cancel_scope limit(weir::detail::after(now(), options_.drain_deadline));
        co_await limit.run(all_gone());
        stats_.cut_off += present_;
    }

    task<> all_gone() {
        while (present_ > 0) {
            one_left_.clear();
            co_await one_left_.wait();
        }
    }

    io::listener door_;
    handler_function handler_;
    serve_options options_;
    server_stats own_stats_;
    server_stats& stats_;
    semaphore room_;
    event one_left_;
    session* sessions_ = nullptr;
    std::size_t present_ = 0;
    bool is_draining_ = false;
};

void check(const serve_options& options) {
    if (options.max_connections == 0) {
        throw invalid_argument("serve: max_connections is 0; it must be at least 1");
    }
    if (options.drain_deadline < clock::duration::zero()) {
        throw invalid_argument("serve: drain_deadline is negative");
    }
}

task<> serve(io::listener door, handler_function handler, serve_options options) {
    if (!door.is_open()) {
        throw invalid_state("serve: the listener is closed");
    }
    server own(std::move(door), std::move(handler), options);
    co_await own.run();
}

task<> serve(io::address at, handler_function handler, serve_options options) {
    server own(io::listen(at, options.listen), std::move(handler), options);
    co_await own.run();
}

}  // namespace weir::tcp::detail
