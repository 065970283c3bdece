// SPDX-License-Identifier: MIT
// The handshake of a server: the requests that it accepts and refuses.

#include "ws/support.hpp"

#include <weir/ws/accept.hpp>

#include <array>

namespace {

using namespace ws_test;
namespace http = weir::http;
using http::status;

// The request of RFC 6455, section 1.3.
void fill(http::request& incoming) {
    http::headers& fields = incoming.headers();
    fields.set("Host", "server.example.com");
    fields.set("Upgrade", "websocket");
    fields.set("Connection", "Upgrade");
    fields.set("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
    fields.set("Sec-WebSocket-Version", "13");
}

TEST(Accept, AnswersTheExampleOfTheRfc) {
    http::request incoming(http::method::get, "/chat");
    fill(incoming);
    incoming.headers().set("Sec-WebSocket-Protocol", "chat, superchat");
    const std::array<std::string_view, 2> ours{"superchat", "chat"};
    http::response answer = ws::accept(incoming, echo, {.protocols = ours});
    EXPECT_EQ(answer.status(), status::switching_protocols);
    EXPECT_EQ(answer.header("Upgrade"), "websocket");
    EXPECT_EQ(answer.header("Connection"), "Upgrade");
    EXPECT_EQ(answer.header("Sec-WebSocket-Accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    EXPECT_EQ(answer.header("Sec-WebSocket-Protocol"), "superchat");
    EXPECT_FALSE(answer.headers().contains("Sec-WebSocket-Extensions"));
    EXPECT_TRUE(answer.is_upgrade());
}

struct attempt {
    const char* name;
    const char* header;
    const char* value;  // null: none
    status answer;
};

TEST(Accept, RefusesOtherRequests) {
    const attempt table[]{
        {"no upgrade", "Upgrade", nullptr, status::upgrade_required},
        {"another upgrade", "Upgrade", "h2c", status::upgrade_required},
        {"one of two", "Upgrade", "h2c, WebSocket", status::switching_protocols},
        {"a part of a word", "Upgrade", "websockets", status::upgrade_required},
        {"no connection", "Connection", nullptr, status::upgrade_required},
        {"another connection", "Connection", "keep-alive", status::upgrade_required},
        {"as Firefox says it", "Connection", "keep-alive, Upgrade", status::switching_protocols},
        {"in capitals", "Connection", "UPGRADE", status::switching_protocols},
        {"no version", "Sec-WebSocket-Version", nullptr, status::upgrade_required},
        {"an old version", "Sec-WebSocket-Version", "8", status::upgrade_required},
        {"two versions", "Sec-WebSocket-Version", "13, 8", status::upgrade_required},
        {"no key", "Sec-WebSocket-Key", nullptr, status::bad_request},
        {"an empty key", "Sec-WebSocket-Key", "", status::bad_request},
        {"a short key", "Sec-WebSocket-Key", "dGhlIHNhbXBsZQ==", status::bad_request},
        {"a long key", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZWQ=", status::bad_request},
        {"no base64", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZ!==", status::bad_request},
        {"extensions", "Sec-WebSocket-Extensions", "permessage-deflate",
         status::switching_protocols},
        {"a body", "Content-Length", "0", status::switching_protocols},
        // Origins; the host is server.example.com.
        {"no page", "Origin", nullptr, status::switching_protocols},
        {"the same host", "Origin", "https://server.example.com", status::switching_protocols},
        {"the same host, plainly", "Origin", "http://SERVER.example.com:80",
         status::switching_protocols},
        {"another port", "Origin", "http://server.example.com:8080", status::forbidden},
        {"another host", "Origin", "https://evil.example", status::forbidden},
        {"a host that begins alike", "Origin", "https://server.example.com.evil.example",
         status::forbidden},
        {"a host in disguise", "Origin", "https://server.example.com@evil.example",
         status::forbidden},
        {"a file, or a sandbox", "Origin", "null", status::forbidden},
        {"no origin at all", "Origin", "garbage", status::forbidden},
        {"an empty one", "Origin", "", status::forbidden},
    };
    for (const attempt& each : table) {
        SCOPED_TRACE(each.name);
        http::request incoming(http::method::get, "/chat");
        fill(incoming);
        if (each.value == nullptr) {
            incoming.headers().remove(each.header);
        } else {
            incoming.headers().set(each.header, each.value);
        }
        const http::response answer = ws::accept(incoming, echo);
        EXPECT_EQ(answer.status(), each.answer);
        EXPECT_EQ(answer.is_upgrade(), each.answer == status::switching_protocols);
        if (each.answer == status::upgrade_required) {
            EXPECT_EQ(answer.header("Sec-WebSocket-Version"), "13");
            EXPECT_EQ(answer.header("Upgrade"), "websocket");
        }
    }
    http::request posted(http::method::post, "/chat");
    fill(posted);
    EXPECT_EQ(ws::accept(posted, echo).status(), status::method_not_allowed);
    http::request twice(http::method::get, "/chat");
    fill(twice);
    twice.headers().add("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
    EXPECT_EQ(ws::accept(twice, echo).status(), status::bad_request);
    http::request good(http::method::get, "/chat");
    fill(good);
    EXPECT_THROW(ws::accept(good, echo, {.connection = {.max_message = 0}}),
                 weir::invalid_argument);
}

TEST(Accept, ChecksOrigins) {
    const std::array<std::string_view, 2> some{"https://Example.com:443", "http://localhost:3000"};
    const std::array<std::string_view, 1> all{"*"};
    const auto answer_to = [](const char* origin, std::span<const std::string_view> list) {
        http::request incoming(http::method::get, "/chat");
        fill(incoming);
        incoming.headers().set("Origin", origin);
        return ws::accept(incoming, echo, {.origins = list}).status();
    };
    EXPECT_EQ(answer_to("https://example.com", some), status::switching_protocols);
    EXPECT_EQ(answer_to("http://localhost:3000", some), status::switching_protocols);
    EXPECT_EQ(answer_to("http://example.com", some), status::forbidden);
    EXPECT_EQ(answer_to("https://server.example.com", some), status::forbidden);
    EXPECT_EQ(answer_to("null", some), status::forbidden);
    EXPECT_EQ(answer_to("https://anybody.example", all), status::switching_protocols);
    EXPECT_EQ(answer_to("null", all), status::switching_protocols);
}

}  // namespace
