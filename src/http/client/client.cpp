// SPDX-License-Identifier: MIT
// A request in steps: a place among those to its host, the addresses of the host, a transfer; and
// again if the answer is a redirect that is to be followed, so that each hop is looked up and
// checked as the first was.

#include "http/client/client_core.hpp"
#include "http/client/redirect.hpp"
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
using detail::host_place;
using detail::transfer;
using detail::transfer_owner;
using detail::upload;

std::string asked(const client_request& wanted) {
    return wanted.method_name() + ' ' + wanted.url().text();
}

task<> wait_for_place(host_place& place, const client_request& wanted,
                      const transfer::deadlines& limits) {
    try {
        co_await timeout_at(limits.total, place.enter());
    } catch (const timed_out&) {
        throw request_timed_out(request_timed_out::limit::total,
                                asked(wanted) + ": timed out while waiting for a connection");
    } catch (const transport_error& error) {
        throw transport_error(error.why(), asked(wanted) + ": " + error.what());
    }
}

task<std::vector<io::address>> look_up(client_core& core, const http::url& where,
                                       const client_request& wanted,
                                       const transfer::deadlines& limits) {
    const clock::time_point connected_by = weir::detail::after(core.home()->now(), limits.connect);
    try {
        auto found = co_await timeout_at(std::min(limits.total, connected_by),
                                         core.resolver().resolve(where.host(), where.port()));
        co_return found;
    } catch (const timed_out&) {
        throw request_timed_out(connected_by < limits.total ? request_timed_out::limit::connect
                                                            : request_timed_out::limit::total,
                                asked(wanted) + ": timed out while looking up the host");
    } catch (const resolve_error& error) {
        throw resolve_error(asked(wanted) + ": " + error.what());
    }
}

// Every one of them must be allowed: which one libcurl will take is not known yet.
void check_addresses(const client_core& core, const http::url& where,
                     const std::vector<io::address>& found, const client_request& wanted) {
    if (!core.filter().has_value()) {
        return;
    }
    const auto check = [&](const io::address& each, std::string_view name) {
        if (!core.filter()->allows(each, name)) {
            throw address_refused(asked(wanted) + ": " + refusal_text(each, name),
                                  std::string(name), each);
        }
    };
    for (const io::address& each : found) {
        check(each, where.host());
    }
    if (const std::optional<io::address> literal = where.address()) {
        check(*literal, {});
    }
}

// libcurl would send what is given here, and the body as it is: a length that is not the body's
// makes another request of the rest, on a connection that others use after it.
void check_framing(const client_request& wanted) {
    const headers& given = wanted.headers();
    const bool has_length = given.contains("Content-Length");
    if (has_length) {
        const std::optional<std::uint64_t> size =
            wanted.method() == method::head ? 0 : wanted.body().size();
        if (!size.has_value() || given.joined("Content-Length") != std::to_string(*size)) {
            throw invalid_argument(
                asked(wanted) + ": the header Content-Length is '" +
                given.joined("Content-Length") + "', which is not what the body has" +
                (size.has_value() ? ", " + std::to_string(*size) + " bytes" : "") +
                ": leave it out, it is written for you");
        }
    }
    if (given.contains("Transfer-Encoding") &&
        (has_length || !same_name(given.joined("Transfer-Encoding"), "chunked"))) {
        throw invalid_argument(asked(wanted) + ": the header Transfer-Encoding is '" +
                               given.joined("Transfer-Encoding") +
                               "'; it must be 'chunked', without Content-Length, or left out");
    }
}

// The function that writes the body and the transfer run side by side. Who answers with an error,
// or ends the connection, does not get the rest.
task<> send_stream(transfer& under_way, upload& sending) {
    auto both = [&](task_group& group) -> task<> {
        handle<void> writing = group.spawn(sending.run(under_way));
        co_await under_way.head();
        if (!under_way.has_ended() && number_of(under_way.status()) < 300) {
            co_await under_way.sent();
        }
        writing.cancel();
    };
    co_await with_group(both);
    under_way.forget_upload();
}

// Null if it was given up for a connection that had died, and is to be tried with a fresh one.
task<transfer_owner> attempt(client_core& core, client_request& wanted,
                             const transfer::deadlines& limits, bool fresh) {
    const http::url& url = wanted.url();
    host_place place(core.hosts(), url.host(), url.port());
    if (!place.try_enter()) {
        co_await wait_for_place(place, wanted, limits);
    }
    const http::url& proxy = core.settings().proxy;
    const http::url& first = proxy.empty() ? url : proxy;
    host_place route(core.hosts(), first.host(), first.port());
    std::vector<io::address> found;
    if (!proxy.empty() && core.filter().has_value()) {
        if (!url.is_ip_literal()) {
            found = co_await look_up(core, url, wanted, limits);
        }
        check_addresses(core, url, found, wanted);
        found.clear();
    }
    if (!first.is_ip_literal()) {
        found = co_await look_up(core, first, wanted, limits);
    }
    check_addresses(core, first, found, wanted);
    if (core.is_closed()) {
        throw transport_error(transport_error::kind::client_closed,
                              asked(wanted) + ": the client was closed");
    }
    transfer_owner made = core.new_transfer();
    made->set_route(std::move(route), found);
    if (fresh) {
        made->set_fresh();
    }
    if (wanted.body().is_stream()) {
        upload sending(*wanted.body().as_stream());
        made->start(wanted, limits, std::move(place), &sending);
        co_await send_stream(*made, sending);
    } else {
        made->start(wanted, limits, std::move(place), nullptr);
        co_await made->head();
    }
    if (made->may_try_fresh()) {
        if (!wanted.body().is_stream()) {
            wanted.set_body(made->take_sent());
        }
        made.reset();
    } else if (!made->has_head()) {
        made->rethrow();
    }
    co_return made;
}

task<client_response> exchange(std::shared_ptr<client_core> core, client_request wanted) {
    core->bind_to_loop();
    check_framing(wanted);
    const client_options& options = core->settings().plain;
    const client_request::limits& own = wanted.own_limits();
    transfer::deadlines limits;
    limits.total = weir::detail::after(core->home()->now(), own.total.value_or(options.timeout));
    limits.connect = own.connect.value_or(options.connect_timeout);
    limits.stall = own.stall.value_or(options.stall_timeout);
    const redirects followed = own.followed.value_or(options.redirects);
    for (int hops = 0;; ++hops) {
        transfer_owner answered = co_await attempt(*core, wanted, limits, false);
        if (answered == nullptr) {
            answered = co_await attempt(*core, wanted, limits, true);
        }
        answered->set_redirects(hops);
        const std::optional<http::url> target =
            detail::redirect_target(*answered, wanted, followed, options);
        if (!target.has_value()) {
            co_return client_response(std::move(answered));
        }
        if (hops >= options.max_redirects) {
            throw redirect_error(asked(wanted) + ": more than " +
                                 std::to_string(options.max_redirects) + " redirects");
        }
        constexpr std::size_t worth_reading = 64 * 1024;
        co_await answered->drop_body(worth_reading);
        detail::follow(wanted, *answered, *target);
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

task<client_response> client::send(client_request wanted) {
    return exchange(core_, std::move(wanted));
}

task<client_response> client::get(std::string_view url) {
    return send(client_request(method::get, core_->parse(url)));
}

task<client_response> client::head(std::string_view url) {
    return send(client_request(method::head, core_->parse(url)));
}

task<client_response> client::post(std::string_view url, http::body content,
                                   std::string_view content_type) {
    client_request wanted(method::post, core_->parse(url));
    wanted.set_body(std::move(content), content_type);
    return send(std::move(wanted));
}

task<client_response> client::put(std::string_view url, http::body content,
                                  std::string_view content_type) {
    client_request wanted(method::put, core_->parse(url));
    wanted.set_body(std::move(content), content_type);
    return send(std::move(wanted));
}

task<client_response> client::delete_(std::string_view url) {
    return send(client_request(method::delete_, core_->parse(url)));
}

http::headers& client::default_headers() noexcept {
    return core_->settings().default_headers;
}

client_stats client::stats() const noexcept {
    return core_->stats();
}

}  // namespace weir::http
