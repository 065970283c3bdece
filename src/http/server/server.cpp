// SPDX-License-Identifier: MIT
// A server is a tcp::serve whose handler speaks HTTP. The template `connection` is instantiated for
// plain sockets, for TLS, and for streams of any other kind.

#include "base/option_checks.hpp"
#include "base/quoted.hpp"
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
    check_time("disconnect_grace", options.disconnect_grace);
    if (!options.server_name.empty() && !is_field_value(options.server_name)) {
        throw invalid_argument("http::server: server_name is " + base::quoted(options.server_name) +
                               ", which cannot be the value of a header");
    }
    tcp::detail::check(options.connections);
}

io::address address_of(const io::socket& client) noexcept {
    try {
        return client.remote_address();
    } catch (const std::exception&) {
        return {};  // disconnected already
    }
}

}  // namespace

struct server::state {
    state(handler app_handler, const server_options& server_options)
        : app(std::move(app_handler)), options(server_options) {
        check(options);
        if (!app) {
            throw invalid_argument("http::server: the handler is empty");
        }
        options.connections.stats = &stats.connections;
    }

    // Runs the start hooks, the work, and the stop hooks that belong to the start hooks that ran.
    template <class Work>
    task<> run_between_hooks(Work work) {
        std::size_t started = 0;
        auto stop = [&]() -> task<> {
            const std::size_t last =
                started == starts.size() ? stops.size() : std::min(started, stops.size());
            std::exception_ptr failure;  // the first; the other hooks run all the same
            for (std::size_t i = last; i-- > 0;) {
                try {
                    co_await stops[i]();
                } catch (...) {
                    keep_or_report(failure);
                }
            }
            if (failure != nullptr) {
                std::rethrow_exception(failure);
            }
        };
        auto start_and_work = [&]() -> task<> {
            for (hook& each : starts) {
                co_await each();
                ++started;
            }
            co_await work();
        };
        co_await finally(start_and_work(), stop);
    }

    // Keeps the current exception if it is the first, and reports it otherwise.
    static void keep_or_report(std::exception_ptr& first) {
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

    task<> serve_client(io::socket client, tcp::session& session) {
        const io::address address = address_of(client);
        if (options.tls == nullptr) {
            detail::connection<io::socket> plain(std::move(client), app, options, stats, session,
                                                 address, false);
            co_await plain.run();
            co_return;
        }
        std::optional<tls::stream<io::socket>> secure;
        try {
            secure.emplace(co_await tls::accept(std::move(client), *options.tls));
        } catch (const std::exception&) {
            ++stats.failed_handshakes;
            co_return;
        }
        // Erased: beside encryption a virtual call costs nothing, and one more connection type
        // would take several seconds to compile.
        detail::connection<io::any_stream> encrypted(io::any_stream(std::move(*secure)), app,
                                                     options, stats, session, address, true);
        co_await encrypted.run();
    }

    task<> serve_all(io::listener listener) {
        auto serve_one = [this](io::socket client, tcp::session& session) {
            return serve_client(std::move(client), session);
        };
        co_await tcp::serve(std::move(listener), serve_one, options.connections);
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

server& server::on_start(hook function) {
    state_->starts.push_back(std::move(function));
    return *this;
}

server& server::on_stop(hook function) {
    state_->stops.push_back(std::move(function));
    return *this;
}

task<> server::serve(io::address address) {
    state& own = *state_;
    auto work = [&own, address]() -> task<> {
        io::listener listener = io::listen(address, own.options.connections.listen);
        co_await own.serve_all(std::move(listener));
    };
    co_await own.run_between_hooks(work);
}

task<> server::serve(io::listener listener) {
    state& own = *state_;
    auto work = [&own, &listener]() -> task<> { co_await own.serve_all(std::move(listener)); };
    co_await own.run_between_hooks(work);
}

const server_stats& server::stats() const noexcept {
    return state_->stats;
}

namespace {
// Owns the server while it serves.
template <class Where>
task<> serve_with(server own, Where where) {
    co_await own.serve(std::move(where));
}
}  // namespace

task<> serve(io::address address, handler app, server_options options) {
    return serve_with(server(std::move(app), options), address);
}

task<> serve(io::listener listener, handler app, server_options options) {
    return serve_with(server(std::move(app), options), std::move(listener));
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
