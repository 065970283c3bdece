// SPDX-License-Identifier: MIT
// plan() makes the text of the request; run_client() connects, sends it and reads the answer, up to
// a limit. The answer is checked strictly, so that no other server is taken for a WebSocket server.
// Bytes after the answer belong to the connection.

#include "base/ascii.hpp"
#include "base/base64.hpp"
#include "base/option_checks.hpp"
#include "ws/handshake/handshake.hpp"

#include <weir/error.hpp>
#include <weir/io/tcp.hpp>
#include <weir/io/tls.hpp>
#include <weir/scope.hpp>
#include <weir/ws/client.hpp>

#include <algorithm>
#include <array>

namespace weir::ws::detail {

namespace {

std::string basic_credentials(const http::url& from) {
    return "Basic " + base::encode_base64(from.user() + ":" + from.password());
}

std::string joined(std::span<const std::string_view> protocols) {
    std::string all;
    for (const std::string_view each : protocols) {
        if (!http::is_token(each)) {
            throw invalid_argument("ws: the protocol '" + std::string(each) +
                                   "' is not a token of HTTP");
        }
        all.append(all.empty() ? "" : ", ").append(each);
    }
    return all;
}

// Whether the list, in our own format, has the word.
bool has_word(std::string_view list, std::string_view word) {
    const std::string padded = ", " + std::string(list) + ", ";
    return !word.empty() && padded.find(", " + std::string(word) + ", ") != std::string::npos;
}

bool is_of_handshake(std::string_view name) noexcept {
    constexpr std::array<std::string_view, 7> names{"Host",
                                                    "Upgrade",
                                                    "Connection",
                                                    "Sec-WebSocket-Key",
                                                    "Sec-WebSocket-Version",
                                                    "Sec-WebSocket-Extensions",
                                                    "Sec-WebSocket-Protocol"};
    return std::any_of(names.begin(), names.end(),
                       [&](std::string_view each) { return http::same_name(each, name); });
}

http::headers request_fields(const http::url& where, const connect_options& options,
                             std::string_view key, std::string_view protocols) {
    http::headers fields;
    fields.add("Host", where.authority());
    fields.add("Upgrade", "websocket");
    fields.add("Connection", "Upgrade");
    fields.add("Sec-WebSocket-Key", key);
    fields.add("Sec-WebSocket-Version", "13");
    if (!protocols.empty()) {
        fields.add("Sec-WebSocket-Protocol", protocols);
    }
    if (!options.origin.empty()) {
        fields.add("Origin", options.origin);
    }
    if (where.has_credentials()) {
        fields.add("Authorization", basic_credentials(where));
    }
    for (const http::header_field& each : options.headers) {
        if (is_of_handshake(each.name)) {
            throw invalid_argument("ws: the header " + std::string(each.name) +
                                   " is set by the handshake");
        }
        fields.add(each.name, each.value);
    }
    return fields;
}

struct answer {
    http::status code{};
    std::string reason;
    http::headers fields;
};

[[noreturn]] void fail(const client_plan& plan, const std::string& reason, http::status code = {}) {
    throw handshake_error("connect to " + http::without_password(plan.where.text()) + ": " + reason,
                          code);
}

// Parses a head without its empty line. Throws invalid_argument if it is not HTTP/1.1.
answer parse(std::string_view head) {
    constexpr std::string_view version = "HTTP/1.1 ";
    const std::size_t line_end = std::min(head.find("\r\n"), head.size());
    std::string_view line = head.substr(0, line_end);
    if (!line.starts_with(version) || line.size() < version.size() + 3 ||
        !std::all_of(line.begin() + 9, line.begin() + 12, base::is_decimal) ||
        (line.size() > 12 && line[12] != ' ')) {
        throw invalid_argument("the answer is not HTTP/1.1");
    }
    answer found;
    found.code =
        static_cast<http::status>((line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0'));
    found.reason = line.substr(12);
    for (std::size_t begin = line_end + 2; begin < head.size();) {
        const std::size_t end = std::min(head.find("\r\n", begin), head.size());
        line = head.substr(begin, end - begin);
        begin = end + 2;
        const std::size_t colon = std::min(line.find(':'), line.size());
        if (colon == line.size()) {
            throw invalid_argument("the answer has an invalid header line");
        }
        // add() checks both.
        found.fields.add(line.substr(0, colon), base::trimmed(line.substr(colon + 1)));
        if (found.fields.size() > 100) {
            throw invalid_argument("the answer has more than 100 headers");
        }
    }
    return found;
}

// An answer that another one follows.
bool is_interim(http::status code) noexcept {
    return http::number_of(code) < 200 && code != http::status::switching_protocols;
}

void check_answer(const client_plan& plan, const answer& received) {
    const http::headers& fields = received.fields;
    if (received.code != http::status::switching_protocols) {
        fail(plan,
             "the server answered " + std::to_string(http::number_of(received.code)) +
                 received.reason,
             received.code);
    }
    if (!http::same_name(fields.joined("Upgrade"), "websocket") ||
        !fields.lists("Connection", "upgrade")) {
        fail(plan, "the server upgraded to something else", received.code);
    }
    if (fields.count("Sec-WebSocket-Accept") != 1 ||
        fields.get("Sec-WebSocket-Accept") != plan.accept) {
        fail(plan, "the server did not confirm our key", received.code);
    }
    if (fields.contains("Sec-WebSocket-Extensions")) {
        fail(plan, "the server uses an extension that was not offered", received.code);
    }
    const std::size_t protocols = fields.count("Sec-WebSocket-Protocol");
    if (protocols > 1 ||
        (protocols == 1 && !has_word(plan.protocols, fields.get("Sec-WebSocket-Protocol")))) {
        fail(plan, "the server chose a protocol that was not offered", received.code);
    }
}

// The next head without its empty line; what was received after it stays in opened.received.
task<std::string> read_head(const client_plan& plan, established& opened, std::size_t limit) {
    constexpr std::string_view end_of_head = "\r\n\r\n";
    std::string& received = opened.received;
    std::array<char, 1024> buffer;
    for (std::size_t searched = 0;;) {
        const std::size_t end = received.find(end_of_head, searched);
        if (std::min(end, received.size()) > limit) {
            fail(plan, "the answer is longer than max_header_bytes, " +
                           std::to_string(plan.max_header_bytes));
        }
        if (end != std::string::npos) {
            std::string head = received.substr(0, end);
            received.erase(0, end + end_of_head.size());
            co_return head;
        }
        searched = received.size() < 3 ? 0 : received.size() - 3;
        const std::size_t count = co_await opened.stream.read(buffer);
        if (count == 0) {
            fail(plan, "the server closed the connection without an answer");
        }
        received.append(buffer.data(), count);
    }
}

task<io::any_stream> connect(const client_plan& plan) {
    tcp::connect_options options;
    options.timeout = plan.timeout;
    options.resolver = plan.resolver;
    const std::string host(plan.where.host());
    io::socket socket = co_await tcp::connect(host, plan.where.port(), options);
    if (!plan.where.is_secure()) {
        co_return io::any_stream(std::move(socket));
    }
    static const tls::context trusted = tls::context::client();
    const tls::context& context = plan.tls != nullptr ? *plan.tls : trusted;
    tls::stream<io::socket> encrypted = co_await tls::connect(std::move(socket), context, host);
    co_return io::any_stream(std::move(encrypted));
}

task<established> establish(const client_plan& plan, io::any_stream stream) {
    if (!stream) {
        stream = co_await connect(plan);
    }
    established opened = co_await shake_hands(plan, std::move(stream));
    co_return opened;
}

}  // namespace

client_plan plan(std::string_view url, const connect_options& options) {
    check(options.connection);
    if (options.timeout <= clock::duration::zero()) {
        weir::detail::throw_bad_option("ws", "timeout", options.timeout, "longer than 0");
    }
    if (options.max_header_bytes == 0) {
        weir::detail::throw_bad_option("ws", "max_header_bytes", 0, "at least 1");
    }
    http::url where = http::url::parse(url).without_fragment();
    if (where.scheme() != "ws" && where.scheme() != "wss") {
        throw invalid_argument("'" + http::without_password(url) + "' is not ws:// or wss://");
    }
    const std::string key = make_key();
    client_plan made{.where = std::move(where),
                     .request = {},
                     .accept = accept_for(key),
                     .protocols = joined(options.protocols),
                     .timeout = options.timeout,
                     .tls = options.tls,
                     .resolver = options.resolver,
                     .max_header_bytes = options.max_header_bytes,
                     .connection = options.connection};
    made.request = "GET " + std::string(made.where.target()) + " HTTP/1.1\r\n";
    for (const auto& [name, value] : request_fields(made.where, options, key, made.protocols)) {
        made.request.append(name).append(": ").append(value).append("\r\n");
    }
    made.request += "\r\n";
    return made;
}

task<established> shake_hands(const client_plan& plan, io::any_stream stream) {
    established opened;
    opened.role = role::client;
    opened.stream = std::move(stream);
    co_await opened.stream.write(plan.request);
    std::size_t bytes_left = plan.max_header_bytes;
    answer received;
    do {
        const std::string head = co_await read_head(plan, opened, bytes_left);
        bytes_left -= head.size();
        try {
            received = parse(head);
        } catch (const invalid_argument& error) {
            fail(plan, error.what());
        }
    } while (is_interim(received.code));
    check_answer(plan, received);
    opened.protocol = received.fields.get("Sec-WebSocket-Protocol");
    co_return opened;
}

task<> run_client(client_plan plan, io::any_stream stream, handler_function body) {
    cancel_scope limit(plan.timeout);
    std::optional<established> opened = co_await limit.run(establish(plan, std::move(stream)));
    if (!opened) {
        throw timed_out("connect to " + http::without_password(plan.where.text()) +
                        ": no WebSocket connection within the timeout");
    }
    task<> running = run_connection(std::move(*opened), std::move(body), plan.connection);
    co_await std::move(running);
}

}  // namespace weir::ws::detail
