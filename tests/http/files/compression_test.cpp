// SPDX-License-Identifier: MIT
// Compression: the bodies that are compressed and those that are not, that no byte gets lost, and
// that hostile compressed bodies do no harm.

#include "serving.hpp"

#include <weir/error.hpp>
#include <weir/http/assets.hpp>
#include <weir/http/compression.hpp>
#include <weir/http/error.hpp>
#include <weir/spawn.hpp>
#include <weir/testing/testing.hpp>
#include <weir/time.hpp>

#include <brotli/decode.h>
#include <brotli/encode.h>
#include <zlib.h>

#include <array>
#include <random>

namespace {

namespace http = weir::http;
using weir_test::ask;
using weir_test::collected;
using weir_test::fields;
using weir_test::seen;

// What can be read from the beginning of a body; `is_complete` if it has come to its end.
struct unpacked {
    std::string text;
    bool is_complete = false;
};

unpacked gunzip(std::string_view packed, int window = 15 + 16) {
    z_stream state{};
    inflateInit2(&state, window);
    state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    state.avail_in = static_cast<uInt>(packed.size());
    unpacked result;
    std::array<char, 4096> part;
    int code = Z_OK;
    do {
        state.next_out = reinterpret_cast<Bytef*>(part.data());
        state.avail_out = part.size();
        code = inflate(&state, Z_SYNC_FLUSH);
        result.text.append(part.data(), part.size() - state.avail_out);
    } while (code == Z_OK && (state.avail_in > 0 || state.avail_out == 0));
    result.is_complete = code == Z_STREAM_END && state.avail_in == 0;
    inflateEnd(&state);
    return result;
}

unpacked unbrotli(std::string_view packed) {
    BrotliDecoderState* const state = BrotliDecoderCreateInstance(nullptr, nullptr, nullptr);
    std::size_t left = packed.size();
    const auto* in = reinterpret_cast<const std::uint8_t*>(packed.data());
    unpacked result;
    std::array<char, 4096> part;
    for (;;) {
        std::size_t room = part.size();
        auto* out = reinterpret_cast<std::uint8_t*>(part.data());
        const auto code = BrotliDecoderDecompressStream(state, &left, &in, &room, &out, nullptr);
        result.text.append(part.data(), part.size() - room);
        if (code != BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT &&
            BrotliDecoderHasMoreOutput(state) == BROTLI_FALSE) {
            result.is_complete = code == BROTLI_DECODER_RESULT_SUCCESS && left == 0;
            break;
        }
    }
    BrotliDecoderDestroyInstance(state);
    return result;
}

unpacked unpack(std::string_view packed, std::string_view coding) {
    return coding == "br"     ? unbrotli(packed)
           : coding == "gzip" ? gunzip(packed)
                              : gunzip(packed, 15);
}

std::string gzip(std::string_view text) {
    z_stream state{};
    deflateInit2(&state, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    std::string packed(deflateBound(&state, text.size()), '\0');
    state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    state.avail_in = static_cast<uInt>(text.size());
    state.next_out = reinterpret_cast<Bytef*>(packed.data());
    state.avail_out = static_cast<uInt>(packed.size());
    deflate(&state, Z_FINISH);
    packed.resize(state.total_out);
    deflateEnd(&state);
    return packed;
}

std::string brotli(std::string_view text) {
    std::size_t size = BrotliEncoderMaxCompressedSize(text.size());
    std::string packed(size, '\0');
    BrotliEncoderCompress(5, 22, BROTLI_MODE_GENERIC, text.size(),
                          reinterpret_cast<const std::uint8_t*>(text.data()), &size,
                          reinterpret_cast<std::uint8_t*>(packed.data()));
    packed.resize(size);
    return packed;
}

std::string some_text(std::mt19937& random, std::size_t size) {
    std::string text;
    while (text.size() < size) {
        text += "word" + std::to_string(random() % 50) + " ";
    }
    text.resize(size);
    return text;
}

http::handler compressed(http::handler inner, http::compression_options options = {}) {
    return http::with(http::compression(options), std::move(inner));
}

WEIR_TEST(Compression, AsTheClientLikesIt) {
    const std::string text(5000, 'x');
    http::handler app = compressed(
        [&] {
            return http::response::html(text).with("ETag", "\"1\"").with("Accept-Ranges", "bytes");
        },
        {.deflate = true});
    const seen plain = co_await ask(app, "/");
    EXPECT_EQ(plain.body, text);
    EXPECT_EQ(plain["Vary"], "Accept-Encoding");
    EXPECT_EQ(plain["ETag"], "\"1\"");
    EXPECT_EQ(plain["Accept-Ranges"], "bytes");
    EXPECT_FALSE(plain.headers.contains("Content-Encoding"));
    for (const char* each : {"gzip", "br", "deflate"}) {
        const seen packed = co_await ask(app, "/", fields("Accept-Encoding", each));
        EXPECT_EQ(packed["Content-Encoding"], each);
        EXPECT_EQ(packed["Vary"], "Accept-Encoding");
        EXPECT_EQ(packed["ETag"], "W/\"1\"");
        EXPECT_EQ(packed["Content-Type"], "text/html; charset=utf-8");
        EXPECT_FALSE(packed.headers.contains("Accept-Ranges"));
        EXPECT_FALSE(packed.was_streamed);
        EXPECT_LT(packed.body.size(), 200u);
        const unpacked back = unpack(packed.body, each);
        EXPECT_TRUE(back.is_complete) << each;
        EXPECT_EQ(back.text, text) << each;
        // HEAD says the same, to the last byte.
        const seen head =
            co_await ask(app, "/", fields("Accept-Encoding", each), http::method::head);
        EXPECT_EQ(head["Content-Encoding"], each);
        EXPECT_EQ(head.announced, packed.announced);
        EXPECT_EQ(head.body, "");
    }
    const seen several = co_await ask(
        app, "/", fields("Accept-Encoding", "gzip", "Accept-Encoding", "br;q=0.5, identity;q=0"));
    EXPECT_EQ(several["Content-Encoding"], "gzip");
}

http::response make_answer(std::string_view which) {
    const std::string text(5000, 'x');
    http::response answer = http::response::text(text);
    if (which == "/small") {
        answer = http::response::text("small");
    } else if (which == "/empty") {
        answer = http::response::text("");
    } else if (which == "/image") {
        answer = http::response(http::status::ok, "image/png", text);
    } else if (which == "/packed") {
        answer.headers().set("Content-Encoding", "zstd");
    } else if (which == "/part") {
        answer.set_status(http::status::partial_content);
        answer.headers().set("Content-Range", "bytes 0-4999/9000");
    } else if (which == "/private") {
        answer.headers().set("Cache-Control", "private, no-transform");
    } else if (which == "/digest") {
        answer.headers().set("Content-Digest", "sha-256=:x:");
    } else if (which == "/representation") {
        answer.headers().set("Repr-Digest", "sha-256=:x:");
    } else if (which == "/nothing") {
        answer = http::response(http::status::no_content);
    } else if (which == "/varies") {
        answer.headers().set("Vary", "Origin");
    } else if (which == "/star") {
        answer.headers().set("Vary", "*");
    } else if (which == "/error") {
        answer.set_status(http::status::internal_server_error);
    }
    return answer;
}

// A handler that stops its own write has no whole body any more.
WEIR_TEST(Compression, ABodyWithAHoleHasNoEnd) {
    http::handler app = compressed([] {
        return http::response::stream("text/plain", [](http::body_writer& out) -> weir::task<> {
            const std::string much(200'000, 'x');
            weir::cancel_scope hasty;
            hasty.cancel();
            const bool done = co_await hasty.run(out.write(much));
            EXPECT_FALSE(done);
        });
    });
    auto asks = [&]() -> weir::task<> {
        co_await ask(app, "/", fields("Accept-Encoding", "gzip"));
    };
    WEIR_EXPECT_THROW_WITH(asks(), weir::invalid_state, "incomplete");
}

WEIR_TEST(Compression, WhatIsLeftAlone) {
    http::handler app =
        compressed([](http::request& incoming) { return make_answer(incoming.path()); });
    struct row {
        const char* path;
        const char* coding;
        const char* vary;
    };
    static constexpr row table[] = {
        {"/", "gzip", "Accept-Encoding"},
        {"/small", "", "Accept-Encoding"},
        {"/empty", "", ""},
        {"/image", "", ""},
        {"/packed", "zstd", ""},
        {"/part", "", "Accept-Encoding"},
        {"/private", "", ""},
        {"/digest", "", ""},
        {"/representation", "", ""},
        {"/nothing", "", ""},
        {"/varies", "gzip", "Origin, Accept-Encoding"},
        {"/star", "gzip", "*"},
        {"/error", "gzip", "Accept-Encoding"},
    };
    for (const row& each : table) {
        const seen answer = co_await ask(app, each.path, fields("Accept-Encoding", "gzip"));
        EXPECT_EQ(answer["Content-Encoding"], each.coding) << each.path;
        EXPECT_EQ(answer["Vary"], each.vary) << each.path;
        const seen head =
            co_await ask(app, each.path, fields("Accept-Encoding", "gzip"), http::method::head);
        EXPECT_EQ(head["Content-Encoding"], each.coding) << each.path;
        EXPECT_EQ(head.announced, answer.announced) << each.path;
    }
    // A client that refuses identity gets even small bodies compressed.
    for (const char* each : {"/small", "/image"}) {
        const seen refused = co_await ask(app, each, fields("Accept-Encoding", "gzip, *;q=0"));
        EXPECT_EQ(refused["Content-Encoding"], "gzip") << each;
        EXPECT_EQ(refused["Vary"], "Accept-Encoding") << each;
    }
    const seen helpless = co_await ask(app, "/", fields("Accept-Encoding", "identity;q=0"));
    EXPECT_EQ(helpless.code, 200u);
    EXPECT_FALSE(helpless.headers.contains("Content-Encoding"));

    const auto error_of = [](const http::compression_options& options) {
        try {
            (void)http::compression(options);
        } catch (const weir::invalid_argument& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_EQ(error_of({.gzip_level = 0}),
              "compression_options: gzip_level = 0 must be from 1 to 9");
    EXPECT_EQ(error_of({.brotli_level = 12}),
              "compression_options: brotli_level = 12 must be from 0 to 11");
}

WEIR_TEST(Compression, NotModifiedSaysWhatTheCacheHas) {
    static const std::string text(5000, 'x');
    static const std::vector<http::asset> assets(1, http::asset{"a.txt", {}, text, "\"1\""});
    http::handler app = compressed(http::assets(assets, {.compressed = false}));
    const seen packed = co_await ask(app, "/a.txt", fields("Accept-Encoding", "gzip"));
    EXPECT_EQ(packed["ETag"], "W/\"1\"");
    const seen weak = co_await ask(
        app, "/a.txt", fields("Accept-Encoding", "gzip", "If-None-Match", packed["ETag"]));
    EXPECT_EQ(weak.code, 304u);
    EXPECT_EQ(weak["ETag"], "W/\"1\"");
    EXPECT_EQ(weak["Vary"], "Accept-Encoding");
    const seen strong = co_await ask(app, "/a.txt", fields("If-None-Match", "\"1\""));
    EXPECT_EQ(strong.code, 304u);
    EXPECT_EQ(strong["ETag"], "\"1\"");
    // A part is never compressed, and parts of what was compressed are not to be had.
    const seen part =
        co_await ask(app, "/a.txt", fields("Accept-Encoding", "gzip", "Range", "bytes=0-9"));
    EXPECT_EQ(part.code, 206u);
    EXPECT_EQ(part.body, text.substr(0, 10));
    EXPECT_EQ(part["ETag"], "\"1\"");
    const seen resumed = co_await ask(
        app, "/a.txt",
        fields("Accept-Encoding", "gzip", "Range", "bytes=0-9", "If-Range", packed["ETag"]));
    EXPECT_EQ(resumed.code, 200u);
    EXPECT_EQ(resumed["Content-Encoding"], "gzip");
}

// Random bodies in random pieces with random flushes come out as they went in; and what was flushed
// can be read at once.
WEIR_TEST(Compression, StreamsInPiecesWithFlushes) {
    weir::testing::once_is_enough();
    std::mt19937 random(11);
    for (int round = 0; round < 30; ++round) {
        const std::size_t size = random() % (round % 10 == 0 ? 300'000 : 5000);
        std::string text = some_text(random, size);
        if (round % 3 == 0) {
            for (char& each : text) {
                each = static_cast<char>(random());
            }
        }
        std::vector<std::size_t> flushed;
        auto write = [&](http::body_writer& out) -> weir::task<> {
            for (std::size_t at = 0; at < text.size();) {
                const std::size_t count = std::min<std::size_t>(
                    random() % (round % 2 == 0 ? 100 : 50'000), text.size() - at);
                co_await out.write(std::string_view(text).substr(at, count));
                at += count;
                if (random() % 8 == 0) {
                    co_await out.flush();
                    flushed.push_back(at);
                    if (random() % 4 == 0) {
                        co_await out.flush();  // twice is no harm
                        flushed.push_back(at);
                    }
                }
            }
        };
        http::handler app = compressed(
            [&] {
                return http::response::stream("text/plain",
                                              [&](http::body_writer& out) { return write(out); });
            },
            {.deflate = true});
        for (const std::string_view coding : {"gzip", "br", "deflate"}) {
            http::request incoming(http::method::get, "/");
            incoming.headers().set("Accept-Encoding", coding);
            flushed.clear();
            http::response answer = co_await app(incoming);
            EXPECT_EQ(answer.header("Content-Encoding"), coding);
            EXPECT_FALSE(answer.body().size().has_value());
            collected out;
            co_await answer.body().as_stream()->write(out);
            const unpacked back = unpack(out.text, coding);
            WEIR_ASSERT_TRUE(back.is_complete) << coding << " " << round;
            WEIR_ASSERT_TRUE(back.text == text) << coding << " " << round;
            WEIR_ASSERT_EQ(out.flushed.size(), flushed.size());
            for (std::size_t i = 0; i < flushed.size(); i += 1 + flushed.size() / 5) {
                const unpacked part = unpack(out.text.substr(0, out.flushed[i]), coding);
                WEIR_ASSERT_TRUE(part.text == text.substr(0, flushed[i])) << coding << " " << round;
            }
        }
    }
}

WEIR_TEST(Compression, LargeTextsDoNotHoldTheLoopUp) {
    weir::testing::once_is_enough();
    std::mt19937 random(12);
    const auto text = std::make_shared<const std::string>(some_text(random, 500'000));
    http::handler app = compressed(
        [&] { return http::response(http::status::ok, "text/plain", http::body::shared(text)); });
    http::request incoming(http::method::get, "/");
    incoming.headers().set("Accept-Encoding", "gzip");
    http::response answer = co_await app(incoming);
    collected out;
    int others = 0;
    bool is_done = false;
    const auto counting = weir::spawn([&]() -> weir::task<> {
        while (!is_done) {
            ++others;
            co_await weir::yield();
        }
    });
    co_await answer.body().as_stream()->write(out);
    is_done = true;
    co_await counting;
    EXPECT_GT(others, 10);
    EXPECT_TRUE(gunzip(out.text).text == *text);
    EXPECT_LT(out.text.size(), text->size() / 3);
}

WEIR_TEST(Compression, NoMoreStreamsThanAllowed) {
    http::handler app = compressed(
        [] {
            return http::response::stream("text/plain", [](http::body_writer& out) -> weir::task<> {
                co_await out.write("text");
            });
        },
        {.max_streams = 2});
    http::request incoming(http::method::get, "/");
    incoming.headers().set("Accept-Encoding", "br");
    http::response first = co_await app(incoming);
    {
        http::response second = co_await app(incoming);
        http::response third = co_await app(incoming);
        EXPECT_EQ(second.header("Content-Encoding"), "br");
        EXPECT_FALSE(third.headers().contains("Content-Encoding"));
        EXPECT_EQ(third.header("Vary"), "Accept-Encoding");
        collected out;
        co_await third.body().as_stream()->write(out);
        EXPECT_EQ(out.text, "text");
    }
    http::response fourth = co_await app(incoming);
    EXPECT_EQ(fourth.header("Content-Encoding"), "br");
}

// What fails in the middle is not ended as if it were whole.
WEIR_TEST(Compression, StreamsThatFailOrAreStopped) {
    http::handler app = compressed([](http::request& incoming) {
        const bool waits = incoming.path() == "/waits";
        return http::response::stream("text/plain",
                                      [waits](http::body_writer& out) -> weir::task<> {
                                          co_await out.write(std::string(100'000, 'x'));
                                          if (waits) {
                                              co_await weir::sleep(std::chrono::hours(1));
                                          }
                                          throw http::error("the source ran dry");
                                      });
    });
    for (const char* coding : {"gzip", "br"}) {
        http::request incoming(http::method::get, "/");
        incoming.headers().set("Accept-Encoding", coding);
        http::response answer = co_await app(incoming);
        collected out;
        WEIR_EXPECT_THROW_WITH(answer.body().as_stream()->write(out), http::error, "ran dry");
        EXPECT_FALSE(unpack(out.text, coding).is_complete);

        http::request patient(http::method::get, "/waits");
        patient.headers().set("Accept-Encoding", coding);
        http::response endless = co_await app(patient);
        const auto sending = weir::spawn(endless.body().as_stream()->write(out));
        co_await weir::testing::settle_all();
        sending.cancel();
        co_await sending.wait();
    }
}

// Stopped at each of its suspensions, it leaves nothing behind, and gives its place to the next.
WEIR_TEST(Compression, StoppedAnywhere) {
    const auto text = std::make_shared<const std::string>(100'000, 'x');
    http::handler app = compressed(
        [&](http::request& incoming) {
            http::body content = http::body::shared(text);
            if (incoming.path() == "/stream") {
                content = http::body::stream([](http::body_writer& out) -> weir::task<> {
                    for (int i = 0; i < 5; ++i) {
                        co_await out.write("some text");
                        co_await out.flush();
                        co_await weir::sleep(std::chrono::milliseconds(1));
                    }
                });
            }
            return http::response(http::status::ok, "text/plain", std::move(content));
        },
        {.max_streams = 1});
    for (const char* path : {"/stream", "/text"}) {
        for (int steps = 0; steps < 20; ++steps) {
            const auto asking = weir::spawn(
                ask, std::ref(app), std::string(path),
                fields("Accept-Encoding", steps % 2 == 0 ? "gzip" : "br"), http::method::get);
            for (int i = 0; i < steps; ++i) {
                co_await weir::yield();
                if (path[1] == 's') {
                    co_await weir::testing::advance(std::chrono::microseconds(300));
                }
            }
            asking.cancel();
            co_await asking.wait();
        }
        const seen whole = co_await ask(app, path, fields("Accept-Encoding", "gzip"));
        EXPECT_EQ(whole["Content-Encoding"], "gzip") << "the place was lost";
    }
}

// ---- requests

weir::task<http::response> echo(http::request& incoming) {
    const bool is_encoded = incoming.headers().contains("Content-Encoding");
    std::string text = co_await incoming.text();
    co_return http::response::text((is_encoded ? "as it came: " : "") + text);
}

weir::task<std::string> post(http::handler& app, std::string body, std::string coding) {
    http::request incoming(http::method::post, "/");
    if (!coding.empty()) {
        incoming.headers().set("Content-Encoding", coding);
    }
    incoming.set_body(std::move(body));
    try {
        const http::response answer = co_await app(incoming);
        std::string text(answer.body().text());
        text = std::to_string(http::number_of(answer.status())) + " " + text.substr(0, 100);
        const std::string_view accepted = answer.header("Accept-Encoding");
        co_return accepted.empty() ? text : text.substr(0, 4) + std::string(accepted);
    } catch (const http::problem& error) {
        co_return std::to_string(http::number_of(error.code())) + " " + error.what();
    }
}

WEIR_TEST(Compression, RequestsThatAreCompressed) {
    weir::testing::once_is_enough();
    const std::string packed = gzip("hello");
    http::handler refusing = compressed(echo);
    const std::string refused = co_await post(refusing, packed, "gzip");
    EXPECT_EQ(refused, "415 identity");
    const std::string plain = co_await post(refusing, "hello", "");
    EXPECT_EQ(plain, "200 hello");
    const std::string named = co_await post(refusing, "hello", "Identity");
    EXPECT_EQ(named, "200 as it came: hello");
    http::handler passing = compressed(echo, {.requests = http::encoded_requests::pass});
    const std::string passed = co_await post(passing, packed, "gzip");
    EXPECT_EQ(passed, "200 as it came: " + packed);

    http::handler decoding = compressed(
        echo, {.requests = http::encoded_requests::decode, .max_decoded_bytes = 100'000});
    const std::string unzipped = co_await post(decoding, packed, "gzip");
    EXPECT_EQ(unzipped, "200 hello");
    const std::string old_name = co_await post(decoding, packed, "x-gzip");
    EXPECT_EQ(old_name, "200 hello");
    const std::string from_brotli = co_await post(decoding, brotli("hello"), "br");
    EXPECT_EQ(from_brotli, "200 hello");
    const std::string members = co_await post(decoding, packed + gzip(" again"), "gzip");
    EXPECT_EQ(members, "200 hello again");
    const std::string nothing = co_await post(decoding, "", "gzip");
    EXPECT_EQ(nothing, "200 ");
    const std::string unknown = co_await post(decoding, packed, "zstd");
    EXPECT_EQ(unknown, "415 gzip, br, deflate");
    const std::string twice = co_await post(decoding, gzip(packed), "gzip, gzip");
    EXPECT_EQ(twice, "415 gzip, br, deflate");
    const std::string cut = co_await post(decoding, packed.substr(0, packed.size() - 3), "gzip");
    EXPECT_EQ(cut, "400 the gzip body is incomplete");
    const std::string broken = co_await post(decoding, "no gzip at all", "gzip");
    EXPECT_EQ(broken, "400 the body is not valid gzip");
    for (const char* coding : {"deflate", "br"}) {
        const std::string garbage = co_await post(decoding, "\xff", coding);
        EXPECT_EQ(garbage.substr(0, 4), "400 ") << coding;
    }

    // Ten megabytes in ten kilobytes.
    const std::string bomb(10'000'000, '\0');
    const std::string limit = "413 the body has more than 100000 bytes when decompressed";
    const std::string by_gzip = co_await post(decoding, gzip(bomb), "gzip");
    EXPECT_EQ(by_gzip, limit);
    const std::string by_brotli = co_await post(decoding, brotli(bomb), "br");
    EXPECT_EQ(by_brotli, limit);
    const std::string just_fits = co_await post(decoding, gzip(std::string(100'000, 'a')), "gzip");
    EXPECT_EQ(just_fits.substr(0, 7), "200 aaa");

    std::mt19937 random(5);
    for (int round = 0; round < 300; ++round) {
        const bool is_gzip = round % 2 == 0;
        const std::string text = some_text(random, random() % 2000);
        std::string body = is_gzip ? gzip(text) : brotli(text);
        const std::size_t changes = random() % 4;
        for (std::size_t i = 0; i < changes; ++i) {
            body[random() % body.size()] = static_cast<char>(random());
        }
        const std::string answer = co_await post(decoding, body, is_gzip ? "gzip" : "br");
        if (changes == 0) {
            WEIR_ASSERT_EQ(answer, "200 " + text.substr(0, 100));
        }
    }
}

}  // namespace
