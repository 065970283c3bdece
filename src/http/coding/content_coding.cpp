// SPDX-License-Identifier: MIT
// The header is parsed once; each coding keeps the last weight given to it, in thousandths.

#include "http/coding/content_coding.hpp"

#include "base/ascii.hpp"

#include <weir/http/headers.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

namespace weir::http::detail {

namespace {

constexpr std::size_t codings = 4;
constexpr std::array<std::string_view, codings> names = {"identity", "gzip", "deflate", "br"};

// '0.5' is 500. At most three digits after the point, and at most 1.
std::optional<int> weight_in(std::string_view text) noexcept {
    if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1') ||
        (text.size() > 1 && text[1] != '.')) {
        return std::nullopt;
    }
    int weight = (text[0] - '0') * 1000;
    int unit = 100;
    for (std::size_t i = 2; i < text.size(); ++i, unit /= 10) {
        if (text[i] < '0' || text[i] > '9') {
            return std::nullopt;
        }
        weight += (text[i] - '0') * unit;
    }
    return weight <= 1000 ? std::optional(weight) : std::nullopt;
}

struct element {
    std::string_view name;
    int weight = 1000;
};

std::optional<element> element_in(std::string_view text) noexcept {
    const std::size_t semicolon = text.find(';');
    element found{base::trimmed(text.substr(0, semicolon))};
    if (!is_token(found.name)) {
        return std::nullopt;
    }
    if (semicolon != std::string_view::npos) {
        const std::string_view parameter = base::trimmed(text.substr(semicolon + 1));
        if (parameter.size() < 2 || (parameter[0] | 0x20) != 'q' || parameter[1] != '=') {
            return std::nullopt;
        }
        const std::optional<int> weight = weight_in(parameter.substr(2));
        if (!weight) {
            return std::nullopt;
        }
        found.weight = *weight;
    }
    return found;
}

struct preferences {
    std::array<std::optional<int>, codings> weights;
    std::optional<int> others;  // '*'

    void note(const element& each) noexcept {
        if (each.name == "*") {
            others = each.weight;
            return;
        }
        // A deprecated name that recipients must still accept.
        const std::string_view name = same_name(each.name, "x-gzip") ? names[1] : each.name;
        for (std::size_t i = 0; i < codings; ++i) {
            if (same_name(name, names[i])) {
                weights[i] = each.weight;
            }
        }
    }
    int weight(coding which) const noexcept {
        return weights[static_cast<std::size_t>(which)].value_or(others.value_or(0));
    }
    bool refuse_identity() const noexcept { return weights[0].value_or(others.value_or(1)) == 0; }
};

}  // namespace

std::string_view name_of(coding which) noexcept {
    return names[static_cast<std::size_t>(which)];
}

coding_choice choose_coding(std::string_view accept_encoding, std::span<const coding> offered) {
    preferences preferred;
    for (std::string_view rest = accept_encoding; !rest.empty();) {
        const std::string_view each = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), each.size() + 1));
        if (const std::optional<element> found = element_in(each)) {
            preferred.note(*found);
        }
    }
    coding_choice choice{coding::identity, preferred.refuse_identity()};
    // Identity competes only if it is named: 'gzip;q=0.5' alone prefers gzip.
    int best = preferred.weights[0].value_or(0);
    for (const coding each : offered) {
        const int weight = preferred.weight(each);
        const bool is_better = choice.which == coding::identity ? weight >= best : weight > best;
        if (weight > 0 && is_better) {
            best = weight;
            choice.which = each;
        }
    }
    return choice;
}

bool is_compressible(std::string_view content_type) noexcept {
    const std::string_view type = base::trimmed(content_type.substr(0, content_type.find(';')));
    const std::size_t slash = type.find('/');
    if (slash == std::string_view::npos) {
        return false;
    }
    if (same_name(type.substr(0, slash), "text")) {
        return true;
    }
    const std::size_t plus = type.rfind('+');
    if (plus != std::string_view::npos) {
        const std::string_view form = type.substr(plus);
        return same_name(form, "+json") || same_name(form, "+xml") || same_name(form, "+text");
    }
    constexpr std::array<std::string_view, 16> others = {
        "application/json", "application/javascript", "application/x-javascript",
        "application/xml",  "application/x-ndjson",   "application/jsonl",
        "application/wasm", "application/yaml",       "application/toml",
        "application/sql",  "application/graphql",    "application/x-www-form-urlencoded",
        "image/bmp",        "image/x-icon",           "font/ttf",
        "font/otf"};
    return std::any_of(others.begin(), others.end(),
                       [&](std::string_view each) { return same_name(type, each); });
}

}  // namespace weir::http::detail
