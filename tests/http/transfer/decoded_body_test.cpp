// SPDX-License-Identifier: MIT
// Bodies that were kept as they came. The codings themselves are tested with the client.

#include "http/coding/compressor.hpp"

#include <weir/http/client_error.hpp>
#include <weir/http/decoded_body.hpp>
#include <weir/io/error.hpp>

#include <gtest/gtest.h>

#include <string>

namespace decoded_body_test {

using namespace weir::http;

std::string packed(detail::coding which, const std::string& text) {
    std::string result;
    const auto compressor = detail::make_compressor(which, {.gzip = 6, .brotli = 4}, text.size());
    compressor->run(text, detail::compressor::then::end, result);
    return result;
}

TEST(DecodedBody, DecodesEveryCoding) {
    const std::string text = std::string(100'000, 'a') + "end";
    for (const detail::coding each :
         {detail::coding::gzip, detail::coding::deflate, detail::coding::brotli}) {
        const std::string name(detail::name_of(each));
        const std::string body = packed(each, text);
        EXPECT_EQ(decoded_body(name, body, text.size()), text) << name;
        EXPECT_THROW(decoded_body(name, body, text.size() - 1), weir::limit_exceeded) << name;
        EXPECT_THROW(decoded_body(name, body.substr(0, body.size() / 2), text.size()),
                     transport_error)
            << name;
        EXPECT_THROW(decoded_body(name, "\xFF\xFFno such body", 100), transport_error) << name;
        EXPECT_EQ(decoded_body(name, "", 100), "") << name;
    }
}

TEST(DecodedBody, OtherCodingsAreLeftAlone) {
    for (const char* const each : {"", "identity", "zstd", "gzip, gzip"}) {
        EXPECT_FALSE(decoded_body(each, "text", 100)) << each;
    }
}

}  // namespace decoded_body_test
