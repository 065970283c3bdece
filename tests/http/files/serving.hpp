// SPDX-License-Identifier: MIT
// Handlers called without a server, and what a client would see of their answers.
#pragma once

#include <weir/http/handler.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir_test {

// Gathers what a streamed body writes.
class collected final : public weir::http::body_writer {
public:
    weir::task<> write(weir::io::const_bytes data) override {
        text.append(data.text());
        ++writes;
        co_return;
    }
    weir::task<> flush() override {
        flushed.push_back(text.size());
        co_return;
    }

    std::string text;
    int writes = 0;
    std::vector<std::size_t> flushed;  // how much had been written at each
};

struct seen {
    unsigned code = 0;
    weir::http::headers headers;
    std::string body;
    bool was_streamed = false;
    std::optional<std::uint64_t> announced;  // its size, before the body is sent

    std::string_view operator[](std::string_view name) const { return headers.get(name); }
};

// As a server would send it: nothing of the body to a HEAD.
inline weir::task<seen> send(weir::http::response answer, bool is_head) {
    seen result;
    result.code = weir::http::number_of(answer.status());
    result.headers = answer.headers();
    if (!result.headers.contains("Content-Type") && !answer.content_type().empty()) {
        result.headers.add("Content-Type", answer.content_type());
    }
    result.announced = answer.body().size();
    if (auto* const stream = answer.body().as_stream()) {
        result.was_streamed = true;
        if (!is_head) {
            collected out;
            co_await stream->write(out);
            result.body = std::move(out.text);
        }
    } else if (!is_head) {
        result.body = answer.body().text();
    }
    if (!is_head && result.announced) {
        EXPECT_EQ(result.body.size(), *result.announced);
    }
    co_return result;
}

inline weir::task<seen> ask(weir::http::handler& app, std::string target,
                            weir::http::headers fields = {},
                            weir::http::method which = weir::http::method::get) {
    weir::http::request incoming(which, target);
    incoming.headers() = std::move(fields);
    weir::http::response answer = co_await app(incoming);
    co_return co_await send(std::move(answer), which == weir::http::method::head);
}

// Names and values in turn. No list of initialisers: GCC 12 does not take those in awaited calls.
inline void add_fields(weir::http::headers&) {}
template <class... More>
void add_fields(weir::http::headers& to, std::string_view name, std::string_view value,
                const More&... more) {
    to.add(name, value);
    add_fields(to, more...);
}
template <class... Text>
weir::http::headers fields(const Text&... names_and_values) {
    weir::http::headers result;
    add_fields(result, names_and_values...);
    return result;
}

}  // namespace weir_test
