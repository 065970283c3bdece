// SPDX-License-Identifier: MIT
// The type of a body: the header Content-Type.
//
//     const auto type = weir::http::media_type::try_parse(answer.header("content-type"));
//     if (type && type->is("text/html")) {
//         decode(body, type->parameter("charset").value_or("utf-8"));
//     }
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::http {

class media_type {
public:
    // 'text/html; charset="utf-8"'. Throws invalid_argument that shows the text. Names are
    // converted to lower case; of two parameters with the same name the first counts; more than 32
    // are refused.
    static media_type parse(std::string_view text);
    static std::optional<media_type> try_parse(std::string_view text);

    const std::string& essence() const noexcept { return essence_; }  // 'text/html'
    std::string_view type() const noexcept;                           // 'text'
    std::string_view subtype() const noexcept;                        // 'html'
    std::string_view suffix() const noexcept;  // 'json' of 'application/problem+json'; often empty
    // The value without its quotes; names are compared without regard to case.
    std::optional<std::string_view> parameter(std::string_view name) const noexcept;

    // 'text/html', 'text/*' or '*/*', without regard to case.
    bool is(std::string_view essence_or_range) const noexcept;
    // application/json, or a type that is written as JSON.
    bool is_json() const noexcept { return essence_ == "application/json" || suffix() == "json"; }

    // In canonical form: 'text/html;charset=utf-8'.
    std::string text() const;

    friend bool operator==(const media_type&, const media_type&) = default;

private:
    std::string essence_;
    std::vector<std::pair<std::string, std::string>> parameters_;
};

}  // namespace weir::http
