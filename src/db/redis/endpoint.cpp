// SPDX-License-Identifier: MIT
// Connecting, by name or path, with TLS if wanted; then AUTH and SELECT, whose answers are waited
// for.

#include "db/redis/client_core.hpp"

#include <weir/error.hpp>
#include <weir/io/tcp.hpp>
#include <weir/io/tls.hpp>
#include <weir/timeout.hpp>

#include <array>

namespace weir::redis::detail {

endpoint::endpoint(const client_options& options)
    : where(options.host.starts_with("unix:")
                ? std::string(options.host)
                : std::string(options.host) + ":" + std::to_string(options.port)),
      host(options.host),
      user(options.user),
      password(options.password),
      database(options.database),
      connect_timeout(options.connect_timeout) {
    if (options.tls != nullptr) {
        tls.emplace(*options.tls);
    }
    if (host.find(':') != std::string::npos && !host.starts_with("unix:") && host.front() != '[') {
        where = "[" + host + "]:" + std::to_string(options.port);
    }
}

task<io::any_stream> endpoint::open(reply_reader& answers) const {
    std::string failure;
    try {
        co_return co_await timeout(connect_timeout, begin(answers));
    } catch (const std::exception& error) {
        failure = error.what();
    }
    throw connection_error(named() + ": " + failure, db::retry_advice::yes);
}

task<io::any_stream> endpoint::begin(reply_reader& answers) const {
    io::socket plain = co_await tcp::connect(where);
    io::any_stream stream;
    if (tls.has_value()) {
        stream = io::any_stream(co_await tls::connect(std::move(plain), *tls, host));
    } else {
        stream = io::any_stream(std::move(plain));
    }
    std::string hello;
    std::size_t awaited = 0;
    if (!password.empty()) {
        if (user.empty()) {
            append_command(hello, "AUTH", password);
        } else {
            append_command(hello, "AUTH", user, password);
        }
        ++awaited;
    }
    if (database != 0) {
        append_command(hello, "SELECT", database);
        ++awaited;
    }
    if (!hello.empty()) {
        co_await stream.write(hello);
    }
    // Nothing of a former connection may be left in it.
    answers.reset();
    std::array<char, 512> buffer;
    while (awaited > 0) {
        const std::size_t count = co_await stream.read(buffer);
        if (count == 0) {
            throw connection_error("the connection was closed", db::retry_advice::yes);
        }
        answers.feed(std::string_view(buffer.data(), count));
        for (std::optional<value> reply = answers.next(); reply.has_value();
             reply = answers.next()) {
            if (reply->is_error()) {
                throw reply_error(reply->error());
            }
            --awaited;
        }
    }
    co_return stream;
}

}  // namespace weir::redis::detail
