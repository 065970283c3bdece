// SPDX-License-Identifier: MIT
// Connects by name or path, with TLS if it is configured, then sends AUTH and SELECT and waits for
// their replies.

#include "db/redis/endpoint.hpp"

#include <weir/error.hpp>
#include <weir/io/tcp.hpp>
#include <weir/io/tls.hpp>
#include <weir/timeout.hpp>

#include <array>

namespace weir::redis::detail {

endpoint::endpoint(const client_options& options)
    : address_(options.host),
      host_(options.host),
      user_(options.user),
      password_(options.password),
      database_(options.database),
      connect_timeout_(options.connect_timeout) {
    if (options.tls != nullptr) {
        tls_.emplace(*options.tls);
    }
    if (!host_.starts_with("unix:")) {
        const bool is_bare_ipv6 = host_.find(':') != std::string::npos && host_.front() != '[';
        address_ = (is_bare_ipv6 ? "[" + host_ + "]" : host_) + ":" + std::to_string(options.port);
    }
}

task<io::any_stream> endpoint::open(reply_reader& replies) const {
    std::string failure;
    try {
        co_return co_await timeout(connect_timeout_, connect(replies));
    } catch (const std::exception& error) {
        failure = error.what();
    }
    throw connection_error(name() + ": " + failure, db::retry_advice::yes);
}

task<io::any_stream> endpoint::connect(reply_reader& replies) const {
    io::socket plain = co_await tcp::connect(address_);
    io::any_stream stream;
    if (tls_.has_value()) {
        stream = io::any_stream(co_await tls::connect(std::move(plain), *tls_, host_));
    } else {
        stream = io::any_stream(std::move(plain));
    }
    std::string hello;
    std::size_t pending = 0;
    if (!password_.empty()) {
        if (user_.empty()) {
            append_command(hello, "AUTH", password_);
        } else {
            append_command(hello, "AUTH", user_, password_);
        }
        ++pending;
    }
    if (database_ != 0) {
        append_command(hello, "SELECT", database_);
        ++pending;
    }
    if (!hello.empty()) {
        co_await stream.write(hello);
    }
    // It may contain a part of a reply of an earlier connection.
    replies.reset();
    std::array<char, 512> buffer;
    while (pending > 0) {
        const std::size_t count = co_await stream.read(buffer);
        if (count == 0) {
            throw connection_error("the connection was closed", db::retry_advice::yes);
        }
        replies.feed(std::string_view(buffer.data(), count));
        for (std::optional<value> reply = replies.next(); reply.has_value();
             reply = replies.next()) {
            if (reply->is_error()) {
                throw reply_error(reply->error());
            }
            --pending;
        }
    }
    co_return stream;
}

}  // namespace weir::redis::detail
