// SPDX-License-Identifier: MIT
// A request takes these steps: a place among the requests to its host, the addresses of the host, a
// transfer. If the response is a redirect to follow, they are taken again, so that each hop is
// looked up and checked as the first was.

#include "http/client/client_core.hpp"
#include "http/client/redirect.hpp"
#include "http/transfer/transfer_error.hpp"
#include "http/transfer/upload.hpp"

#include <weir/error.hpp>
#include <weir/group.hpp>
#include <weir/http/client.hpp>
#include <weir/io/dns.hpp>
#include <weir/timeout.hpp>

#include <algorithm>
#include <utility>

namespace weir::http {

namespace {

using detail::client_core;
using detail::description_of;
using detail::host_place;
using detail::request_limits;
using detail::transfer;
using detail::transfer_owner;
using detail::upload;

task<> wait_for_place(host_place& place, const client_request& request,
                      const request_limits& limits) {
    try {
        co_await timeout_at(limits.total, place.enter());
    } catch (const request_timed_out&) {
        std::rethrow_exception(detail::with_request(description_of(request)));
    } catch (const timed_out&) {
        throw request_timed_out(
            request_timed_out::limit::total,
            description_of(request) + ": timed out while waiting for a connection");
    } catch (const transport_error&) {
        std::rethrow_exception(detail::with_request(description_of(request)));
    }
}

task<std::vector<io::address>> look_up(client_core& core, const http::url& host,
                                       const client_request& request,
                                       const request_limits& limits) {
    const clock::time_point connect_deadline =
        weir::detail::after(core.home()->now(), limits.connect);
    try {
        auto found = co_await timeout_at(std::min(limits.total, connect_deadline),
                                         core.resolver().resolve(host.host(), host.port()));
        co_return found;
    } catch (const timed_out&) {
        throw request_timed_out(connect_deadline < limits.total ? request_timed_out::limit::connect
                                                                : request_timed_out::limit::total,
                                description_of(request) + ": timed out while looking up the host");
    } catch (const resolve_error&) {
        std::rethrow_exception(detail::with_request(description_of(request)));
    }
}

// All addresses must be allowed: which one libcurl will use is not known yet.
void check_addresses(const client_core& core, const http::url& host,
                     const std::vector<io::address>& found, const client_request& request) {
    try {
        for (const io::address& each : found) {
            core.check_address(each, host.host());
        }
        if (const std::optional<io::address> literal = host.address()) {
            core.check_address(*literal, {});
        }
    } catch (const address_refused&) {
        std::rethrow_exception(detail::with_request(description_of(request)));
    }
}

// The addresses of the host that libcurl will connect to; none if it is itself an address. Behind a
// proxy, the addresses of the request's own host are checked as well.
task<std::vector<io::address>> find_addresses(client_core& core, const http::url& first_hop,
                                              const client_request& request,
                                              const request_limits& limits) {
    const http::url& url = request.url();
    std::vector<io::address> found;
    if (&first_hop != &url && core.has_filter()) {
        if (!url.is_ip_literal()) {
            found = co_await look_up(core, url, request, limits);
        }
        check_addresses(core, url, found, request);
        found.clear();
    }
    if (!first_hop.is_ip_literal()) {
        found = co_await look_up(core, first_hop, request, limits);
    }
    check_addresses(core, first_hop, found, request);
    co_return found;
}

// libcurl would send these headers as given, and the body as it is. With a wrong length, the rest
// of the body becomes another request, on a connection that other requests use later.
void check_framing(const client_request& request) {
    const headers& fields = request.headers();
    const bool has_length = fields.contains("Content-Length");
    if (has_length) {
        const std::optional<std::uint64_t> size =
            request.method() == method::head ? 0 : request.body().size();
        if (!size.has_value() || fields.joined("Content-Length") != std::to_string(*size)) {
            throw invalid_argument(
                description_of(request) + ": the header Content-Length is '" +
                fields.joined("Content-Length") + "', which is not the size of the body" +
                (size.has_value() ? ", " + std::to_string(*size) + " bytes" : "") +
                "; leave the header out, the client writes it");
        }
    }
    if (fields.contains("Transfer-Encoding") &&
        (has_length || !same_name(fields.joined("Transfer-Encoding"), "chunked"))) {
        throw invalid_argument(description_of(request) + ": the header Transfer-Encoding is '" +
                               fields.joined("Transfer-Encoding") +
                               "'; it must be 'chunked', without Content-Length, or left out");
    }
}

// The function that writes the body runs beside the transfer. A server that responds with an error
// or closes the connection does not get the rest.
task<> send_stream(transfer& carrier, upload& streamed) {
    auto both = [&](task_group& group) -> task<> {
        handle<void> writing = group.spawn(streamed.run(carrier));
        co_await carrier.head_received();
        if (!carrier.has_ended() && number_of(carrier.head().status()) < 300) {
            co_await carrier.upload_sent();
        }
        writing.cancel();
    };
    co_await with_group(both);
    carrier.forget_upload();
}

// Null if the kept connection was dead and the request is to be sent again on a new one.
task<transfer_owner> attempt(client_core& core, client_request& request,
                             const request_limits& limits, bool on_new_connection) {
    const http::url& url = request.url();
    host_place place(core.hosts(), url.host(), url.port());
    if (!place.try_enter()) {
        co_await wait_for_place(place, request, limits);
    }
    const http::url& proxy = core.settings().proxy;
    const http::url& first_hop = proxy.empty() ? url : proxy;
    host_place route(core.hosts(), first_hop.host(), first_hop.port());
    std::vector<io::address> found = co_await find_addresses(core, first_hop, request, limits);
    if (core.is_closed()) {
        throw transport_error(transport_error::kind::client_closed,
                              description_of(request) + ": the client was closed");
    }
    transfer_owner running = core.new_transfer();
    running->connection().set_route(core.hosts(), std::move(route), found);
    if (on_new_connection) {
        running->connection().require_new();
    }
    if (request.body().is_stream()) {
        upload streamed(*request.body().as_stream());
        running->start(request, limits, std::move(place), &streamed);
        co_await send_stream(*running, streamed);
    } else {
        running->start(request, limits, std::move(place), nullptr);
        co_await running->head_received();
    }
    if (running->may_retry_on_new_connection()) {
        if (!request.body().is_stream()) {
            request.set_body(running->take_request_body());
        }
        running.reset();
    } else if (!running->has_head()) {
        running->rethrow();
    }
    co_return running;
}

task<client_response> exchange(std::shared_ptr<client_core> core, client_request request) {
    core->bind_to_loop();
    check_framing(request);
    const client_options& options = core->settings().options;
    const client_request::limits& own = request.own_limits();
    request_limits limits;
    limits.total = weir::detail::after(core->home()->now(), own.total.value_or(options.timeout));
    limits.connect = own.connect.value_or(options.connect_timeout);
    limits.stall = own.stall.value_or(options.stall_timeout);
    const redirects followed = own.followed.value_or(options.redirects);
    for (int hops = 0;; ++hops) {
        transfer_owner responded = co_await attempt(*core, request, limits, false);
        if (responded == nullptr) {
            responded = co_await attempt(*core, request, limits, true);
        }
        responded->set_redirects(hops);
        const http::status code = responded->head().status();
        const std::optional<http::url> target =
            detail::redirect_target(request, code, responded->head().fields(), followed, options);
        if (!target.has_value()) {
            co_return client_response(std::move(responded));
        }
        if (hops >= options.max_redirects) {
            throw redirect_error(description_of(request) + ": more than " +
                                 std::to_string(options.max_redirects) + " redirects");
        }
        constexpr std::size_t max_dropped = 64 * 1024;
        co_await responded->drop_body(max_dropped);
        detail::follow_redirect(request, code, responded->take_request_body(), *target);
    }
}

}  // namespace

client::client(const client_options& options)
    : core_(std::make_shared<client_core>(options, std::nullopt)) {}

client::client(const client_options& options, address_filter filter)
    : core_(std::make_shared<client_core>(options, std::move(filter))) {}

client::~client() {
    core_->close();
}

task<client_response> client::send(client_request request) {
    return exchange(core_, std::move(request));
}

task<client_response> client::get(std::string_view url) {
    return send(client_request(method::get, core_->urls().parse(url)));
}

task<client_response> client::head(std::string_view url) {
    return send(client_request(method::head, core_->urls().parse(url)));
}

task<client_response> client::post(std::string_view url, http::body content,
                                   std::string_view content_type) {
    client_request request(method::post, core_->urls().parse(url));
    request.set_body(std::move(content), content_type);
    return send(std::move(request));
}

task<client_response> client::put(std::string_view url, http::body content,
                                  std::string_view content_type) {
    client_request request(method::put, core_->urls().parse(url));
    request.set_body(std::move(content), content_type);
    return send(std::move(request));
}

task<client_response> client::delete_(std::string_view url) {
    return send(client_request(method::delete_, core_->urls().parse(url)));
}

http::headers& client::default_headers() noexcept {
    return core_->settings().default_headers;
}

client_stats client::stats() const noexcept {
    return core_->stats();
}

}  // namespace weir::http
