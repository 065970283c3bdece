// SPDX-License-Identifier: MIT
// A server: a task for each connection, as many as are allowed, until it is stopped.
//
//     weir::task<> echo(weir::io::socket peer, weir::tcp::session& session) {
//         std::array<char, 4096> buffer;
//         for (;;) {
//             const auto count = co_await session.idle(peer.read(buffer));
//             if (count.value_or(0) == 0) {
//                 co_return;  // the peer has ended, or the server is about to
//             }
//             co_await peer.write(weir::io::bytes(buffer).first(*count));
//         }
//     }
//     int main() { return weir::run_main(weir::tcp::serve(weir::io::address::parse(":7"), echo)); }
#pragma once

#include <weir/base/to_task.hpp>
#include <weir/base/unique_function.hpp>
#include <weir/clock.hpp>
#include <weir/io/address.hpp>
#include <weir/io/listener.hpp>
#include <weir/io/socket.hpp>
#include <weir/scope.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace weir::tcp {

namespace detail {
class server;
}

struct server_stats {
    std::uint64_t accepted = 0;
    std::uint64_t failed = 0;         // handlers that ended with an error
    std::uint64_t accept_errors = 0;  // out of descriptors, above all
    std::uint64_t cut_off = 0;        // connections that the drain deadline ended
    std::size_t active = 0;
};

struct serve_options {
    // At this number no more are accepted: those who come wait in the system's queue.
    std::size_t max_connections = 10'000;
    // When the server is stopped, connections may go on for so long, except in session.idle().
    clock::duration drain_deadline = std::chrono::seconds(5);
    bool no_delay = true;  // small answers go out at once
    io::listen_options listen{};
    server_stats* stats = nullptr;  // kept up to date there
};

// The server as a handler sees it.
class session {
public:
    // Servers that get their connections in another way have sessions of their own.
    session() noexcept = default;
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    // What a cancel_scope makes of it: an optional of the result, or a bool where there is none.
    template <class Awaitable>
    using scoped_result =
        decltype(std::declval<cancel_scope&>().run(std::declval<Awaitable>()).await_resume());

    // Waits as the awaitable does, but not once the server drains, nor beyond the deadline: then it
    // ends at once, with an empty optional (or false). For the waits between requests, where
    // nothing is lost by going. Several tasks of a handler may do it at a time.
    template <weir::detail::task_like Awaitable>
    auto idle(Awaitable awaitable, clock::time_point deadline = clock::time_point::max())
        -> task<scoped_result<Awaitable>> {
        cancel_scope waiting(deadline);
        if (is_draining_) {
            waiting.cancel();
        }
        const waits_here mark(*this, waiting);
        co_return co_await waiting.run(std::move(awaitable));
    }
    bool is_draining() const noexcept { return is_draining_; }
    // Ends the idle waits, now and from now on.
    void drain() {
        is_draining_ = true;
        for (waits_here* each = idle_; each != nullptr; each = each->next_) {
            each->waiting_.cancel();
        }
    }

private:
    friend class detail::server;
    class waits_here {
    public:
        waits_here(session& at, cancel_scope& waiting) noexcept
            : at_(at), waiting_(waiting), next_(at.idle_) {
            if (next_ != nullptr) {
                next_->previous_ = this;
            }
            at.idle_ = this;
        }
        waits_here(const waits_here&) = delete;
        waits_here& operator=(const waits_here&) = delete;
        ~waits_here() {
            (previous_ != nullptr ? previous_->next_ : at_.idle_) = next_;
            if (next_ != nullptr) {
                next_->previous_ = previous_;
            }
        }

    private:
        friend class session;
        session& at_;
        cancel_scope& waiting_;
        waits_here* next_;
        waits_here* previous_ = nullptr;
    };

    waits_here* idle_ = nullptr;  // the first of them
    bool is_draining_ = false;
    session* previous_ = nullptr;
    session* next_ = nullptr;
};

namespace detail {

using handler_function = weir::detail::unique_function<task<>(io::socket, session&)>;
task<> serve(io::listener door, handler_function handler, serve_options options);
task<> serve(io::address at, handler_function handler, serve_options options);
void check(const serve_options& options);

template <class Handler>
concept takes_session = weir::detail::starts_task<Handler&, io::socket, session&>;
template <class Handler>
concept takes_socket = weir::detail::starts_task<Handler&, io::socket>;

template <class Handler>
handler_function to_handler(Handler&& handler) {
    // As elsewhere, an lvalue is referred to and anything else moved in.
    return [held = weir::detail::held_t<Handler>(std::forward<Handler>(handler))](
               io::socket peer, session& at) mutable -> task<> {
        if constexpr (takes_session<std::remove_reference_t<Handler>>) {
            return held(std::move(peer), at);
        } else {
            return held(std::move(peer));
        }
    };
}

}  // namespace detail

// Runs handler(socket) or handler(socket, session) as a task for each connection. A handler that
// throws ends its own connection, and is reported unless the peer just went away. Being out of
// descriptors or memory is waited out. It never ends by itself: when it is stopped it closes its
// door, lets the connections end within the drain deadline, then stops those that have not. Throws
// io_error if it cannot listen or the listener fails.
template <class Handler>
    requires(detail::takes_session<std::remove_reference_t<Handler>> ||
             detail::takes_socket<std::remove_reference_t<Handler>>)
task<> serve(io::listener door, Handler&& handler, const serve_options& options = {}) {
    WEIR_CHECK_CALLABLE(Handler);
    detail::check(options);
    return detail::serve(std::move(door), detail::to_handler(std::forward<Handler>(handler)),
                         options);
}
template <class Handler>
    requires(detail::takes_session<std::remove_reference_t<Handler>> ||
             detail::takes_socket<std::remove_reference_t<Handler>>)
task<> serve(const io::address& at, Handler&& handler, const serve_options& options = {}) {
    WEIR_CHECK_CALLABLE(Handler);
    detail::check(options);
    return detail::serve(at, detail::to_handler(std::forward<Handler>(handler)), options);
}

}  // namespace weir::tcp
