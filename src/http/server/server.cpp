// SPDX-License-Identifier: MIT
// A server is a tcp::serve whose handler speaks HTTP. The connection's code is compiled for plain
// sockets, for TLS, and for streams of any other kind.

#include "base/option_checks.hpp"
#include "http/server/connection.hpp"

#include <weir/finally.hpp>
#include <weir/http/server.hpp>
#include <weir/io/socket.hpp>
#include <weir/io/tls.hpp>

#include <vector>

namespace weir::http {

namespace {

void check_time(const char* option, clock::duration value) {
    if (value <= clock::duration::zero()) {
        weir::detail::throw_bad_option("http::server", option, value, "more than 0");
    }
}
void check_count(const char* option, std::uint64_t value) {
    if (value == 0) {
        weir::detail::throw_bad_option("http::server", option, 0, "more than 0");
    }
}

void check(const server_options& options) {
    check_count("max_header_bytes", options.max_header_bytes);
    check_count("max_headers", options.max_headers);
    check_count("max_requests", options.max_requests);
    check_count("min_body_rate", options.min_body_rate);
    check_time("header_timeout", options.header_timeout);
    check_time("body_timeout", options.body_timeout);
    check_time("write_timeout", options.write_timeout);
    check_time("idle_timeout", options.idle_timeout);
    if (!options.server_name.empty() && !is_field_value(options.server_name)) {
        throw invalid_argument("http::server: server_name cannot be the value of a header");
    }
    tcp::detail::check(options.connections);
}

io::address address_of(const io::socket& peer) noexcept {
    try {
        return peer.remote_address();
    } catch (const std::exception&) {
        return {};  // gone already
    }
}

}  // namespace

struct server::state {
    state(handler given, const server_options& chosen) : app(std::move(given)), options(chosen) {
        check(options);
        if (!app) {
            throw invalid_argument("http::server: the handler is empty");
        }
        options.connections.stats = &stats.connections;
    }

    // Runs the start hooks, what is to be between, and the stop hooks of those that were started.
    template <class Work>
    task<> between_hooks(Work work) {
        std::size_t started = 0;
        auto stop = [&]() -> task<> {
            const std::size_t last =
                started == starts.size() ? stops.size() : std::min(started, stops.size());
            std::exception_ptr failure;  // the first: the other hooks have their things to close
            for (std::size_t i = last; i-- > 0;) {
                try {
                    co_await stops[i]();
                } catch (...) {
                    tell_unless_first(failure);
                }
            }
            if (failure != nullptr) {
                std::rethrow_exception(failure);
            }
        };
        auto go = [&]() -> task<> {
            for (hook& each : starts) {
                co_await each();
                ++started;
            }
            co_await work();
        };
        co_await finally(go(), stop);
    }

    static void tell_unless_first(std::exception_ptr& first) {
        if (first == nullptr) {
            first = std::current_exception();
            return;
        }
        loop::current().tell(
            {report_kind::suppressed_error,
             "a stop hook of http::server failed: " + describe(std::current_exception()),
             std::current_exception(),
             {},
             {}});
    }

    task<> attend(io::socket peer, tcp::session& session) {
        const io::address who = address_of(peer);
        if (options.tls == nullptr) {
            detail::connection<io::socket> plain(std::move(peer), app, options, stats, session, who,
                                                 false);
            co_await plain.run();
            co_return;
        }
        std::optional<tls::stream<io::socket>> secure;
        try {
            secure.emplace(co_await tls::accept(std::move(peer), *options.tls));
        } catch (const std::exception&) {
            ++stats.failed_handshakes;
            co_return;
        }
        detail::connection<tls::stream<io::socket>> encrypted(std::move(*secure), app, options,
                                                              stats, session, who, true);
        co_await encrypted.run();
    }

    task<> accept(io::listener door) {
        auto attends = [this](io::socket peer, tcp::session& session) {
            return attend(std::move(peer), session);
        };
        co_await tcp::serve(std::move(door), attends, options.connections);
    }

    handler app;
    server_options options;
    server_stats stats;
    std::vector<hook> starts;
    std::vector<hook> stops;
};

server::server(handler app, const server_options& options)
    : state_(std::make_unique<state>(std::move(app), options)) {}
server::server(server&&) noexcept = default;
server::~server() = default;

server& server::on_start(hook before) {
    state_->starts.push_back(std::move(before));
    return *this;
}

server& server::on_stop(hook after) {
    state_->stops.push_back(std::move(after));
    return *this;
}

task<> server::serve(io::address at) {
    state& own = *state_;
    auto work = [&own, at]() -> task<> {
        io::listener door = io::listen(at, own.options.connections.listen);
        co_await own.accept(std::move(door));
    };
    co_await own.between_hooks(work);
}

task<> server::serve(io::listener door) {
    state& own = *state_;
    auto work = [&own, &door]() -> task<> { co_await own.accept(std::move(door)); };
    co_await own.between_hooks(work);
}

const server_stats& server::stats() const noexcept {
    return state_->stats;
}

namespace {
template <class Place>
task<> serve_alone(Place place, server own) {
    co_await own.serve(std::move(place));
}
}  // namespace

task<> serve(io::address at, handler app, server_options options) {
    return serve_alone(at, server(std::move(app), options));
}

task<> serve(io::listener door, handler app, server_options options) {
    return serve_alone(std::move(door), server(std::move(app), options));
}

task<> serve_connection(io::any_stream stream, handler& app, server_options options,
                        tcp::session& session) {
    check(options);
    server_stats unused;
    detail::connection<io::any_stream> any(std::move(stream), app, options, unused, session, {},
                                           options.tls != nullptr);
    co_await any.run();
}

}  // namespace weir::http
