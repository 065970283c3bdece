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

#include <weir/base/intrusive_list.hpp>
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

struct server_stats {
    std::uint64_t accepted = 0;
    std::uint64_t failed = 0;         // handlers that ended with an error
    std::uint64_t accept_errors = 0;  // such as no free descriptor
    std::uint64_t cut_off = 0;        // connections that the drain deadline ended
    std::size_t active = 0;
};

struct serve_options {
    // At this number no more are accepted: further clients wait in the system's queue.
    std::size_t max_connections = 10'000;
    // How long connections may continue after a stop of the server, except in session.idle().
    clock::duration drain_deadline = std::chrono::seconds(5);
    bool no_delay = true;  // small writes are sent at once
    io::listen_options listen{};
    server_stats* stats = nullptr;  // if given, kept up to date
};

// The server as a handler sees it.
class session {
public:
    // For servers that get their connections in another way.
    session() noexcept = default;
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    // The result of cancel_scope::run: an optional, or a bool if the awaitable has no result.
    template <class Awaitable>
    using scoped_result =
        decltype(std::declval<cancel_scope&>().run(std::declval<Awaitable>()).await_resume());

    // Awaits the awaitable, but no longer than until the server drains or the deadline: then it
    // ends at once, with an empty optional (or false). For the waits between requests, where ending
    // loses nothing. Several tasks of a handler may wait at a time.
    template <weir::detail::task_like Awaitable>
    auto idle(Awaitable awaitable, clock::time_point deadline = clock::time_point::max())
        -> task<scoped_result<Awaitable>> {
        cancel_scope waiting(deadline);
        if (is_draining_) {
            waiting.cancel();
        }
        const idle_wait registered(*this, waiting);
        co_return co_await waiting.run(std::move(awaitable));
    }
    bool is_draining() const noexcept { return is_draining_; }
    // Ends the idle waits, now and from now on.
    void drain() {
        is_draining_ = true;
        for (idle_wait& each : idle_) {
            each.waiting.cancel();
        }
    }

private:
    // A wait in the list of its session.
    struct idle_wait : weir::detail::list_link<> {
        idle_wait(session& owner, cancel_scope& scope) noexcept : waiting(scope) {
            owner.idle_.push_back(*this);
        }
        idle_wait(const idle_wait&) = delete;
        idle_wait& operator=(const idle_wait&) = delete;
        ~idle_wait() { unlink(); }

        cancel_scope& waiting;
    };

    weir::detail::intrusive_list<idle_wait> idle_;
    bool is_draining_ = false;
};

namespace detail {

using handler_function = weir::detail::unique_function<task<>(io::socket, session&)>;
task<> serve(io::listener listener, handler_function handler, serve_options options);
task<> serve(io::address at, handler_function handler, serve_options options);
void check(const serve_options& options);

template <class Handler>
concept takes_session = weir::detail::starts_task<Handler&, io::socket, session&>;
template <class Handler>
concept takes_socket = weir::detail::starts_task<Handler&, io::socket>;

template <class Handler>
handler_function to_handler(Handler&& handler) {
    // An lvalue is kept by reference, an rvalue is moved in.
    return [held = weir::detail::held_t<Handler>(std::forward<Handler>(handler))](
               io::socket peer, session& own) mutable -> task<> {
        if constexpr (takes_session<std::remove_reference_t<Handler>>) {
            return held(std::move(peer), own);
        } else {
            return held(std::move(peer));
        }
    };
}

}  // namespace detail

// Runs handler(socket) or handler(socket, session) as a task for each connection. A handler that
// throws ends its own connection, and is reported unless the peer just went away. While descriptors
// or memory are short, accepting pauses. The server runs until it is stopped: then it closes its
// listener, lets the connections end within the drain deadline, and then stops the rest. Throws
// io_error if it cannot listen or the listener fails.
template <class Handler>
    requires(detail::takes_session<std::remove_reference_t<Handler>> ||
             detail::takes_socket<std::remove_reference_t<Handler>>)
task<> serve(io::listener listener, Handler&& handler, const serve_options& options = {}) {
    WEIR_CHECK_CALLABLE(Handler);
    detail::check(options);
    return detail::serve(std::move(listener), detail::to_handler(std::forward<Handler>(handler)),
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
