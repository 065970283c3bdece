// SPDX-License-Identifier: MIT
// What a server makes of frames, good and bad, in the categories of the Autobahn test suite. Every
// case is sent whole, and again byte by byte.

#include "ws/protocol/receiver.hpp"

#include "support/schedules.hpp"
#include "ws/support.hpp"

#include <algorithm>
#include <random>

namespace {

using namespace ws_test;
using ws::detail::receiver;

constexpr unsigned continued = 0, text = 1, binary = 2, closing = 8, ping = 9, pong = 10;

struct scenario {
    const char* name;
    std::vector<raw> sent;
    unsigned code;          // of the close frame that comes back
    std::string answers{};  // the kinds and contents of what comes before it: 't:abc p:x '
    ws::connection_options limits{};
};

raw changed(raw frame, void (*change)(raw&)) {
    change(frame);
    return frame;
}
raw close_with(unsigned code, std::string_view reason = {}) {
    return raw(closing, close_content(code, reason));
}

std::vector<scenario> scenarios() {
    const raw bye = close_with(1000);
    const auto reserved = [](unsigned bits, unsigned kind, std::string content) {
        raw frame = raw(kind, std::move(content));
        frame.reserved = bits;
        return frame;
    };
    const auto unmasked = [](raw frame) {
        frame.masked = false;
        return frame;
    };
    const std::string k125(125, 'x'), k126(126, 'y'), k70000(70'000, 'z');
    std::vector<scenario> all{
        // 1: framing
        {"empty text", {raw(text, ""), bye}, 1000, "t: "},
        {"text of 125", {raw(text, k125), bye}, 1000, "t:" + k125 + " "},
        {"text of 126", {raw(text, k126), bye}, 1000, "t:" + k126 + " "},
        {"text of 70000", {raw(text, k70000), bye}, 1000, "t:" + k70000 + " "},
        {"empty bytes", {raw(binary, ""), bye}, 1000, "b: "},
        {"bytes", {raw(binary, "\xFE\xFF"), bye}, 1000, "b:\xFE\xFF "},
        {"a length of 2 bytes for 5",
         {changed(raw(text, "hello"), [](raw& r) { r.length_size = 2; })},
         1002},
        {"a length of 8 bytes for 5",
         {changed(raw(text, "hello"), [](raw& r) { r.length_size = 8; })},
         1002},
        {"a length of 2^63",
         {changed(raw(binary, "x"), [](raw& r) { r.announced = 1ULL << 63; })},
         1002},
        {"unmasked text", {unmasked(raw(text, "hello"))}, 1002},
        {"unmasked empty text", {unmasked(raw(text, ""))}, 1002},
        {"unmasked ping", {unmasked(raw(ping, "x"))}, 1002},
        {"unmasked close", {unmasked(close_with(1000))}, 1002},
        // 2: ping and pong
        {"an empty ping", {raw(ping, ""), bye}, 1000, "p: "},
        {"a ping of 125", {raw(ping, k125), bye}, 1000, "p:" + k125 + " "},
        {"a ping that is no text", {raw(ping, "\xFF\xFE"), bye}, 1000, "p:\xFF\xFE "},
        {"a ping of 126", {raw(ping, k126)}, 1002},
        {"a pong without a ping", {raw(pong, "hi"), raw(text, "a"), bye}, 1000, "t:a "},
        {"a pong of eight bytes without a ping", {raw(pong, std::string(8, '\xFF')), bye}, 1000},
        {"a pong of 126", {raw(pong, k126)}, 1002},
        // 3: reserved bits
        {"bit 1", {reserved(4, text, "a")}, 1002},
        {"bit 2", {raw(text, "a"), reserved(2, text, "b")}, 1002, "t:a "},
        {"bit 3 of a ping", {reserved(1, ping, "a")}, 1002},
        {"all bits of a close", {reserved(7, closing, "")}, 1002},
        {"bit 1 of a continuation", {raw(text, "a", false), reserved(4, continued, "b")}, 1002},
        // 4: kinds
        {"kind 3", {raw(3, "")}, 1002},
        {"kind 7 with content", {raw(7, "abc")}, 1002},
        {"kind 11", {raw(11, "")}, 1002},
        {"kind 15 behind a message", {raw(text, "a"), raw(15, "x")}, 1002, "t:a "},
        // 5: fragments
        {"two fragments", {raw(text, "a", false), raw(continued, "b"), bye}, 1000, "t:ab "},
        {"empty fragments",
         {raw(text, "", false), raw(continued, "", false), raw(continued, ""), bye},
         1000,
         "t: "},
        {"a ping within",
         {raw(text, "a", false), raw(ping, "p"), raw(continued, "b"), bye},
         1000,
         "p:p t:ab "},
        {"a ping in fragments", {raw(ping, "a", false)}, 1002},
        {"a pong in fragments", {raw(pong, "a", false)}, 1002},
        {"a close in fragments", {raw(closing, "", false)}, 1002},
        {"a continuation of nothing", {raw(continued, "a")}, 1002},
        {"an unfinished continuation of nothing", {raw(continued, "a", false)}, 1002},
        {"a continuation after the end", {raw(text, "a"), raw(continued, "b")}, 1002, "t:a "},
        {"text within text", {raw(text, "a", false), raw(text, "b")}, 1002},
        {"bytes within text", {raw(text, "a", false), raw(binary, "b", false)}, 1002},
        {"a close within", {raw(text, "a", false), bye}, 1000},
        // 6: text
        {"UTF-8 across fragments",
         {raw(text, "\xCE\xBA\xF0\x9F", false), raw(ping, "p"), raw(continued, "\x98\x80"), bye},
         1000,
         "p:p t:\xCE\xBA\xF0\x9F\x98\x80 "},
        {"no UTF-8", {raw(text, "abc\xFFxyz")}, 1007},
        {"overlong", {raw(text, "\xC0\xAF")}, 1007},
        {"overlong, three bytes", {raw(text, "\xE0\x80\xAF")}, 1007},
        {"a surrogate", {raw(text, "\xED\xA0\x80")}, 1007},
        {"above the last character", {raw(text, "\xF4\x90\x80\x80")}, 1007},
        {"half a character", {raw(text, "\xCE")}, 1007},
        {"half a character in the last fragment",
         {raw(text, "a", false), raw(continued, "\xE2\x82")},
         1007},
        {"told before the end", {raw(text, "\xFF", false)}, 1007},
        {"told before the frame has come",
         {changed(raw(text, "ab\xFF"), [](raw& r) { r.announced = 100; })},
         1007},
        {"bytes need not be", {raw(binary, "\xFF\xC0"), bye}, 1000, "b:\xFF\xC0 "},
        // 7: closing
        {"no code", {raw(closing, "")}, 1005},
        {"a code", {close_with(1000)}, 1000},
        {"a code and a reason", {close_with(1001, "bye")}, 1001},
        {"a reason of 123", {close_with(1000, std::string(123, 'r'))}, 1000},
        {"a reason of 124", {close_with(1000, std::string(124, 'r'))}, 1002},
        {"a reason that is no UTF-8", {close_with(1000, "\xFF")}, 1007},
        {"half a code", {raw(closing, "\x03")}, 1002},
        {"nothing is read after a close", {close_with(1000), raw(text, "a"), raw(3, "bad")}, 1000},
        {"a ping behind a close", {close_with(1000), raw(ping, "a")}, 1000},
        // 9: limits
        {"too big", {raw(binary, std::string(101, 'x'))}, 1009, "", {.max_message = 100}},
        {"just not too big",
         {raw(binary, std::string(100, 'x')), bye},
         1000,
         "b:" + std::string(100, 'x') + " ",
         {.max_message = 100}},
        {"too big in fragments",
         {raw(text, std::string(60, 'x'), false), raw(continued, std::string(60, 'x'))},
         1009,
         "",
         {.max_message = 100}},
        {"announced as too big",
         {changed(raw(binary, "x"), [](raw& r) { r.announced = 1ULL << 62; })},
         1009},
        {"too many frames",
         {raw(text, "", false), raw(continued, "", false), raw(continued, "", false)},
         1008,
         "",
         {.max_frames = 2}},
        {"control frames do not count",
         {raw(text, "a", false), raw(ping, "1"), raw(ping, "1"), raw(continued, "b"), bye},
         1000,
         "p:1 p:1 t:ab ",
         {.max_frames = 2}},
    };
    for (const unsigned code :
         {0U, 999U, 1004U, 1005U, 1006U, 1015U, 1016U, 1100U, 2000U, 2999U, 5000U, 65535U}) {
        all.push_back({"a bad code", {close_with(code)}, 1002});
    }
    for (const unsigned code : {1000U, 1001U, 1002U, 1003U, 1007U, 1008U, 1009U, 1010U, 1011U,
                                1012U, 1013U, 1014U, 3000U, 3999U, 4000U, 4999U}) {
        all.push_back({"a good code", {close_with(code)}, code});
    }
    return all;
}

std::string described(const std::vector<seen>& frames) {
    std::string out;
    for (const seen& each : frames) {
        if (each.kind != closing) {
            out += each.kind == text ? "t:" : each.kind == binary ? "b:" : "p:";
            out += each.content + " ";
        }
    }
    return out;
}

// Sends it, and gives all that comes back.
task<std::string> play(simulated_network& net, scenario what, std::size_t piece) {
    auto [near, far] = net.pair();
    auto server = weir::spawn(ws::serve(io::any_stream(std::move(far)), echo, what.limits));
    std::string bytes;
    for (const raw& each : what.sent) {
        bytes += bytes_of(each);
    }
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
        co_await near.write(std::string_view(bytes).substr(at, piece));
        if (piece < bytes.size()) {
            co_await weir::sleep(1ms);
        }
    }
    std::string came = co_await io::read_all(near, 1 << 20);
    near.close();
    co_await server;
    co_return came;
}

void check_table(std::size_t piece, std::size_t from_size, std::size_t to_size) {
    for (const scenario& each : scenarios()) {
        std::size_t size = 0;
        for (const raw& sent : each.sent) {
            size += sent.content.size();
        }
        if (size < from_size || size >= to_size) {
            continue;
        }
        SCOPED_TRACE(each.name);
        auto body = [&]() -> task<> {
            simulated_network net;
            const std::string came = co_await play(net, each, piece);
            const std::vector<seen> frames = frames_in(came);
            WEIR_ASSERT_FALSE(frames.empty());
            EXPECT_EQ(frames.back().kind, closing);
            EXPECT_EQ(frames.back().code(), each.code);
            EXPECT_EQ(std::count_if(frames.begin(), frames.end(),
                                    [](const seen& f) { return f.kind == closing; }),
                      1);
            if (piece == 1 || each.answers.find("p:") == std::string::npos) {
                EXPECT_EQ(described(frames), each.answers);
            }
        };
        schedules::expect_under(3, body);
    }
}

TEST(Receiver, FollowsTheTable) {
    check_table(1 << 20, 0, 1 << 20);
}
TEST(Receiver, FollowsTheTableByteByByte) {
    check_table(1, 0, 1000);
}

// The same rules for a client, whose servers must not mask.
TEST(Receiver, AClientRefusesMaskedFrames) {
    receiver in(ws::role::client, {});
    raw good = raw(text, "a");
    good.masked = false;
    const std::string bytes = bytes_of(good) + bytes_of(raw(text, "b"));
    in.feed(bytes);
    EXPECT_EQ(in.next().what, receiver::kind::message);
    EXPECT_EQ(in.take_message().text(), "a");
    const receiver::event bad = in.next();
    EXPECT_EQ(bad.what, receiver::kind::violation);
    EXPECT_EQ(bad.code, ws::close_code::protocol_error);
    in.feed(bytes);
    EXPECT_EQ(in.next().what, receiver::kind::nothing);
}

// A frame that must not come is refused when its header is complete, before any of its payload.
TEST(Receiver, RefusesAtTheHeader) {
    struct {
        const char* name;
        raw frame;
        ws::close_code code;
    } const cases[] = {
        {"126 bytes", changed(raw(binary), [](raw& r) { r.announced = 126; }),
         ws::close_code::too_big},
        {"70000 bytes", changed(raw(text), [](raw& r) { r.announced = 70'000; }),
         ws::close_code::too_big},
        {"2^62 bytes", changed(raw(text), [](raw& r) { r.announced = std::uint64_t{1} << 62; }),
         ws::close_code::too_big},
        {"an unknown opcode", changed(raw(3), [](raw& r) { r.announced = 5; }),
         ws::close_code::protocol_error},
        {"a continuation of nothing", changed(raw(continued), [](raw& r) { r.announced = 5; }),
         ws::close_code::protocol_error},
    };
    for (const ws::role role : {ws::role::client, ws::role::server}) {
        for (const auto& each : cases) {
            for (const bool after_another : {false, true}) {
                SCOPED_TRACE(each.name);
                receiver in(role, {.max_message = 100});
                raw frame = each.frame;
                raw before(text, "before");
                frame.masked = before.masked = role == ws::role::server;
                const std::string header = bytes_of(frame);
                const std::string begin =
                    (after_another ? bytes_of(before) : "") + header.substr(0, header.size() - 1);
                in.feed(begin);
                if (after_another) {
                    EXPECT_EQ(in.next().what, receiver::kind::message);
                }
                EXPECT_EQ(in.next().what, receiver::kind::nothing);
                in.feed(std::string_view(header).substr(header.size() - 1));
                const receiver::event refused = in.next();
                EXPECT_EQ(refused.what, receiver::kind::violation);
                EXPECT_EQ(refused.code, each.code);
            }
        }
    }
}

// Random messages in random fragments with control frames in between, in random pieces.
TEST(Receiver, ReceivesWhatWasSentHoweverItIsCut) {
    std::mt19937 random(42);
    const auto below = [&](unsigned end) { return random() % end; };
    for (int round = 0; round < 100; ++round) {
        std::string wire;
        std::vector<std::string> expected;
        for (unsigned count = 1 + below(5); count > 0; --count) {
            const bool is_text = below(2) == 0;
            std::string content;
            for (unsigned left = below(below(4) == 0 ? 20'000 : 200); left > 0; --left) {
                if (is_text && below(3) == 0) {
                    content += below(2) == 0 ? "\xE2\x82\xAC" : "\xF0\x9F\x98\x80";
                } else {
                    content += static_cast<char>(is_text ? 'a' + below(26) : below(256));
                }
            }
            expected.push_back((is_text ? "t" : "b") + content);
            std::size_t at = 0;
            bool first = true;
            for (unsigned more = below(4);; --more) {
                const std::size_t size =
                    more == 0 ? content.size() - at
                              : below(static_cast<unsigned>(content.size() - at + 1));
                raw part = raw(!first    ? continued
                               : is_text ? text
                                         : binary,
                               content.substr(at, size), more == 0);
                wire += bytes_of(part);
                at += size;
                first = false;
                if (below(3) == 0) {
                    std::string payload(below(126), 'p');
                    const unsigned kind = below(2) == 0 ? ping : pong;
                    wire += bytes_of(raw(kind, payload));
                    if (more == 0) {
                        expected.push_back((kind == ping ? "i" : "o") + payload);
                    } else {
                        expected.insert(expected.end() - 1, (kind == ping ? "i" : "o") + payload);
                    }
                }
                if (more == 0) {
                    break;
                }
            }
        }
        receiver in(ws::role::server, {});
        std::vector<std::string> came;
        for (std::size_t at = 0; at < wire.size();) {
            const std::size_t size =
                std::min<std::size_t>(1 + below(below(2) == 0 ? 10 : 9000), wire.size() - at);
            in.feed(std::string_view(wire).substr(at, size));
            at += size;
            for (auto event = in.next(); event.what != receiver::kind::nothing; event = in.next()) {
                if (event.what == receiver::kind::message) {
                    const ws::message whole = in.take_message();
                    came.push_back((whole.is_text() ? "t" : "b") + std::string(whole.text()));
                } else {
                    came.push_back((event.what == receiver::kind::ping ? "i" : "o") +
                                   std::string(event.text));
                    ASSERT_NE(event.what, receiver::kind::violation) << event.text;
                }
            }
        }
        ASSERT_EQ(came, expected) << "round " << round;
    }
}

// Garbage leads to a violation or to nothing, and takes no more memory than has come.
TEST(Receiver, GarbageIsHarmless) {
    std::mt19937 random(7);
    for (int round = 0; round < 2000; ++round) {
        receiver in(ws::role::server, {.max_message = 1000, .max_frames = 10});
        std::string wire =
            bytes_of(raw(text, std::string(random() % 200, 'a'), random() % 2 == 0)) +
            bytes_of(raw(random() % 16, "abc"));
        for (unsigned changes = 1 + random() % 8; changes > 0; --changes) {
            wire[random() % wire.size()] = static_cast<char>(random());
        }
        in.feed(wire);
        int events = 0;
        for (auto event = in.next(); event.what != receiver::kind::nothing; event = in.next()) {
            ASSERT_LT(++events, 300);
        }
    }
}

}  // namespace
