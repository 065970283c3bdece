// SPDX-License-Identifier: MIT
// A name is resolved to a list of addresses, which are raced (happy_eyeballs.hpp). If all fail,
// their errors become one, with the code of the first address that has a route: a missing route to
// IPv6 is the least interesting reason.

#include "io/dns/host_name.hpp"
#include "io/net/address_order.hpp"
#include "io/net/happy_eyeballs.hpp"

#include <weir/error.hpp>
#include <weir/io/error.hpp>
#include <weir/io/tcp.hpp>
#include <weir/scope.hpp>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace weir::tcp {

namespace {

bool has_no_route(const std::error_code& code) noexcept {
    return code == std::errc::network_unreachable || code == std::errc::host_unreachable ||
           code == std::errc::address_not_available ||
           code == std::errc::address_family_not_supported;
}

std::error_code code_of(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::system_error& failed) {
        return failed.code();
    } catch (...) {
        return std::make_error_code(std::errc::io_error);
    }
}

// 'connect to localhost:80 ([::1]:80: Connection refused; 127.0.0.1:80: Connection refused)'.
[[noreturn]] void throw_all_failed(const std::string& target,
                                   const std::vector<io::address>& addresses,
                                   const std::vector<std::exception_ptr>& errors) {
    if (errors.size() == 1) {
        std::rethrow_exception(errors.front());
    }
    std::string attempts;
    std::error_code reason;
    for (std::size_t index = 0; index < addresses.size(); ++index) {
        const std::error_code code = code_of(errors[index]);
        attempts +=
            (attempts.empty() ? "" : "; ") + addresses[index].text() + ": " + code.message();
        if (!reason || (has_no_route(reason) && !has_no_route(code))) {
            reason = code;
        }
    }
    throw io_error(reason, "connect to " + target + " (" + attempts + ")");
}

task<io::socket> connect_to_any(std::vector<io::address> addresses, std::string target,
                                connect_options options) {
    io::detail::interleave_families(addresses);
    auto attempt = [&](const io::address& to) -> task<io::socket> {
        if (options.local.kind() == io::address::family::none) {
            return io::connect(to);
        }
        return io::connect(to, options.local);
    };
    auto ended = co_await io::detail::connect_to_first<io::socket>(addresses, attempt,
                                                                   options.attempt_delay);
    if (!ended.connection) {
        throw_all_failed(target, addresses, ended.errors);
    }
    if (options.no_delay) {
        ended.connection->set_no_delay(true);
    }
    co_return std::move(*ended.connection);
}

task<io::socket> resolve_and_connect(std::string host, std::uint16_t port,
                                     connect_options options) {
    dns::resolver& names = options.resolver != nullptr ? *options.resolver : dns::loop_resolver();
    std::vector<io::address> addresses = co_await names.resolve(host, port);
    // Only addresses of the family of the local address.
    const io::address::family from = options.local.kind();
    if (from != io::address::family::none) {
        std::erase_if(addresses, [&](const io::address& each) { return each.kind() != from; });
        if (addresses.empty()) {
            throw io_error(EAFNOSUPPORT, "connect to " + host + ":" + std::to_string(port) +
                                             " from " + options.local.text());
        }
    }
    co_return co_await connect_to_any(std::move(addresses), host + ":" + std::to_string(port),
                                      options);
}

void check(const connect_options& options) {
    if (options.timeout <= clock::duration::zero()) {
        throw invalid_argument(
            "tcp::connect: timeout is not positive; give a time, or "
            "clock::duration::max() for no limit");
    }
    if (options.attempt_delay < clock::duration::zero()) {
        throw invalid_argument("tcp::connect: attempt_delay is negative; it must be 0 or more");
    }
    if (options.local.kind() == io::address::family::local) {
        throw invalid_argument("tcp::connect: local is '" + options.local.text() +
                               "'; it must be an IPv4 or IPv6 address");
    }
}

std::string seconds(clock::duration time) {
    std::string text = std::to_string(std::chrono::duration<double>(time).count());
    text.erase(text.find_last_not_of('0') + 1);
    return text.ends_with('.') ? text + "0" : text;
}

task<io::socket> within(clock::duration time, std::string target, task<io::socket> work) {
    cancel_scope limit(time);
    std::optional<io::socket> made = co_await limit.run(std::move(work));
    if (!made) {
        throw timed_out("connect to " + target + ": no connection within " + seconds(time) + " s");
    }
    co_return std::move(*made);
}

}  // namespace

task<io::socket> connect(std::string host, std::uint16_t port, connect_options options) {
    check(options);
    const std::string target = dns::detail::shown(host) + ":" + std::to_string(port);
    co_return co_await within(options.timeout, target, resolve_and_connect(host, port, options));
}

task<io::socket> connect(std::string where, connect_options options) {
    if (where.starts_with("unix:")) {
        check(options);
        co_return co_await within(options.timeout, where, io::connect(io::address::parse(where)));
    }
    const auto [host, service] = dns::detail::split_host_and_port(where);
    const std::uint16_t port = dns::detail::port_of(service);
    co_return co_await connect(std::string(host), port, options);
}

}  // namespace weir::tcp
