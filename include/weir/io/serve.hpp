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
#include <string_view>
#include <utility>

namespace weir::tcp {

struct server_stats {
    std::uint64_t accepted = 0;
    std::uint64_t failed = 0;         // handlers that ended with an error
    std::uint64_t accept_errors = 0;  // such as no free descriptor
    std::uint64_t cut_off = 0;        // connections that the drain deadline ended
    std::uint64_t idle_ended = 0;     // idle connections that made room for others
    std::size_t active = 0;
};

// Winds a server down in steps before it is stopped, so that its clients move to a successor
// without an error. It must outlive the server, and controls one.
class serve_control {
public:
    serve_control() noexcept = default;
    serve_control(const serve_control&) = delete;
    serve_control& operator=(const serve_control&) = delete;

    // Each connection is to end after its next answer; new ones are still accepted.
    void retire() noexcept { is_retiring_ = true; }
    bool is_retiring() const noexcept { return is_retiring_; }
    // Closes the listener: another process accepts from the same socket. Connections continue.
    void stop_accepting() {
        is_accepting_ = false;
        if (accepting_ != nullptr) {
            accepting_->cancel();
        }
    }
    bool is_accepting() const noexcept { return is_accepting_; }

    // For the server: `scope` is that in which it accepts; null: it has ended.
    void attach(cancel_scope* scope) {
        accepting_ = scope;
        if (scope != nullptr && !is_accepting_) {
            scope->cancel();
        }
    }

private:
    cancel_scope* accepting_ = nullptr;
    bool is_retiring_ = false;
    bool is_accepting_ = true;
};

struct serve_options {
    // At this number an idle connection is ended for each new one; while none is idle, further
    // clients wait in the system's queue.
    std::size_t max_connections = 10'000;
    // Connections leave so many descriptors of the process free, but at most a quarter of them, for
    // files and connections that the process opens itself. Below that number the same holds as at
    // max_connections.
    std::size_t spare_descriptors = 64;
    // Receives a sentence about either shortage, at most once in ten seconds.
    void (*on_shortage)(std::string_view) = nullptr;
    // How long connections may continue after a stop of the server, except in session.idle().
    clock::duration drain_deadline = std::chrono::seconds(5);
    bool no_delay = true;  // small writes are sent at once
    io::listen_options listen{};
    server_stats* stats = nullptr;     // if given, kept up to date
    serve_control* control = nullptr;  // if given, obeyed
};

// The server as a handler sees it.
class session {
public:
    // For servers that get their connections in another way.
    explicit session(const serve_control* control = nullptr) noexcept : control_(control) {}
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    // The result of cancel_scope::run: an optional, or a bool if the awaitable has no result.
    template <class Awaitable>
    using scoped_result =
        decltype(std::declval<cancel_scope&>().run(std::declval<Awaitable>()).await_resume());

    // Awaits the awaitable, but no longer than until the server drains or the deadline: then it
    // ends at once, with an empty optional (or false). For the waits between requests, where ending
    // loses nothing. Several tasks of a handler may wait at a time. A wait that has a deadline may
    // also end early, when the server is short of connections or descriptors.
    template <weir::detail::task_like Awaitable>
    auto idle(Awaitable awaitable, clock::time_point deadline = clock::time_point::max())
        -> task<scoped_result<Awaitable>> {
        cancel_scope waiting(deadline);
        if (is_draining_) {
            waiting.cancel();
        }
        const idle_wait registered(*this, waiting, deadline != clock::time_point::max());
        co_return co_await waiting.run(std::move(awaitable));
    }
    bool is_draining() const noexcept { return is_draining_; }
    // The connection is to end after its next answer.
    bool is_retiring() const noexcept { return control_ != nullptr && control_->is_retiring(); }
    // Since when the connection waits for a request that has not begun; empty if it does not.
    std::optional<clock::time_point> idle_since() const noexcept {
        const bool is_idle = !idle_.empty() && idle_.front().may_end_early;
        return is_idle ? std::optional(idle_.front().since) : std::nullopt;
    }
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
        idle_wait(session& owner, cancel_scope& scope, bool has_deadline)
            : waiting(scope), since(now()), may_end_early(has_deadline) {
            owner.idle_.push_back(*this);
        }
        idle_wait(const idle_wait&) = delete;
        idle_wait& operator=(const idle_wait&) = delete;
        ~idle_wait() { unlink(); }

        cancel_scope& waiting;
        const clock::time_point since;
        const bool may_end_early;
    };

    weir::detail::intrusive_list<idle_wait> idle_;
    const serve_control* control_;
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
// or memory are short, idle connections end, and accepting pauses. The server runs until it is
// stopped: then it closes its listener, lets the connections end within the drain deadline, and
// then stops the rest. Throws io_error if it cannot listen or the listener fails.
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
