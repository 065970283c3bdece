// SPDX-License-Identifier: MIT
// Requests as they may be: valid ones, written in all the ways that are allowed, and damaged ones.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace random_requests {

class dice {
public:
    explicit dice(std::uint64_t seed) : engine_(seed) {}
    std::size_t below(std::size_t limit) {
        return std::uniform_int_distribution<std::size_t>(0, limit - 1)(engine_);
    }
    bool one_in(std::size_t count) { return below(count) == 0; }
    template <class Range>
    auto pick(const Range& from) {
        return from[below(from.size())];
    }
    std::string text(std::size_t most, std::string_view letters) {
        std::string result(below(most + 1), ' ');
        for (char& each : result) {
            each = pick(letters);
        }
        return result;
    }
    std::string octets(std::size_t most) {
        std::string result(below(most + 1), ' ');
        for (char& each : result) {
            each = static_cast<char>(below(256));
        }
        return result;
    }

private:
    std::mt19937_64 engine_;
};

constexpr std::string_view token_letters =
    "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view target_letters =
    "abcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/?%|\\^\"<>{}[]";
constexpr std::string_view value_letters = "abcXYZ019 \t,;=:\"'()\\/<>@\x80\xff";

struct model {
    std::string method;
    std::string target;
    unsigned minor_version = 1;
    std::vector<std::pair<std::string, std::string>> fields;
    bool keep_alive = true;
    bool is_chunked = false;
    bool has_length = false;
    std::string body;
};

inline std::string trimmed(std::string text) {
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string::npos) {
        return {};
    }
    return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

inline std::string in_random_case(dice& random, std::string text) {
    for (char& each : text) {
        if (each >= 'a' && each <= 'z' && random.one_in(3)) {
            each = static_cast<char>(each - 'a' + 'A');
        }
    }
    return text;
}

inline void choose_framing(dice& random, model& message) {
    const std::size_t kind = random.below(message.minor_version == 0 ? 2 : 3);
    if (kind == 0) {
        return;
    }
    message.body = random.one_in(4) ? std::string() : random.octets(random.one_in(3) ? 3000 : 40);
    if (kind == 1) {
        message.has_length = true;
        message.fields.emplace_back(
            in_random_case(random, "content-length"),
            std::string(random.below(3), '0') + std::to_string(message.body.size()));
    } else {
        message.is_chunked = true;
        message.fields.emplace_back(in_random_case(random, "transfer-encoding"),
                                    in_random_case(random, "chunked"));
    }
}

inline void choose_connection(dice& random, model& message) {
    constexpr std::array<std::string_view, 5> words = {"close", "keep-alive", "te", "x", ""};
    bool closes = false;
    bool keeps = false;
    while (random.one_in(3)) {
        std::string list;
        for (std::size_t count = random.below(3); count != 0; --count) {
            const std::string_view word = random.pick(words);
            closes |= word == "close";
            keeps |= word == "keep-alive";
            list += in_random_case(random, std::string(word));
            if (count != 1) {
                list += random.pick(std::array<std::string_view, 3>{",", ", ", " ,"});
            }
        }
        message.fields.emplace_back(in_random_case(random, "connection"), trimmed(list));
    }
    message.keep_alive = !closes && (message.minor_version == 1 || keeps);
}

inline model random_request(dice& random) {
    constexpr std::array<std::string_view, 6> methods = {"GET",     "POST",     "PUT",
                                                         "OPTIONS", "M-SEARCH", "get"};
    model message;
    message.method = random.pick(methods);
    message.target = "/" + random.text(random.one_in(5) ? 300 : 20, target_letters);
    message.minor_version = random.one_in(4) ? 0 : 1;
    if (message.minor_version == 1 || random.one_in(2)) {
        message.fields.emplace_back(in_random_case(random, "host"), "example.org:81");
    }
    for (std::size_t count = random.below(8); count != 0; --count) {
        message.fields.emplace_back(
            "x" + random.text(12, token_letters),
            trimmed(random.text(random.one_in(5) ? 500 : 20, value_letters)));
    }
    choose_framing(random, message);
    choose_connection(random, message);
    // Order among those of different names means nothing.
    for (std::size_t i = message.fields.size(); i > 1; --i) {
        std::swap(message.fields[i - 1], message.fields[random.below(i)]);
    }
    return message;
}

inline std::string chunked(dice& random, std::string_view body) {
    std::string text;
    const auto size_line = [&](std::size_t size) {
        std::array<char, 40> digits{};
        const int zeros = static_cast<int>(random.below(9));
        std::snprintf(digits.data(), digits.size(), random.one_in(2) ? "%0*zx" : "%0*zX", zeros,
                      size);
        text += digits.data();
        if (random.one_in(4)) {
            text += random.pick(
                std::array<std::string_view, 4>{";a", ";a=b", "; a = \"b;\\\"c\"", ";a;b=\"\""});
        }
        text += "\r\n";
    };
    while (!body.empty()) {
        const std::size_t size = 1 + random.below(std::min<std::size_t>(body.size(), 200));
        size_line(size);
        text += body.substr(0, size);
        text += "\r\n";
        body.remove_prefix(size);
    }
    size_line(0);
    while (random.one_in(3)) {
        text +=
            "x" + random.text(30, token_letters) + ":" + random.text(20, value_letters) + "\r\n";
    }
    return text + "\r\n";
}

inline std::string written(dice& random, const model& from) {
    std::string text = random.one_in(8) ? "\r\n" : "";
    const bool is_absolute = random.one_in(10);
    text += from.method + " " + (is_absolute ? "http://example.org:81" : "") + from.target +
            " HTTP/1." + std::to_string(from.minor_version) + "\r\n";
    for (const auto& [name, value] : from.fields) {
        text += name + ":" + random.text(3, " \t") + value + random.text(3, " \t") + "\r\n";
    }
    text += "\r\n";
    return text + (from.is_chunked ? chunked(random, from.body) : from.body);
}

// A byte or some changed, dropped or doubled.
inline void damage(dice& random, std::string& text) {
    constexpr std::string_view nasty = "\r\n\t :;,0a\x80";
    for (std::size_t count = 1 + random.below(3); count != 0; --count) {
        const std::size_t at = random.below(text.size());
        switch (random.below(3)) {
            case 0:
                text[at] = random.one_in(10) ? '\0' : random.pick(nasty);
                break;
            case 1:
                text.erase(at, 1);
                break;
            default:
                text.insert(at, 1, random.one_in(2) ? text[at] : random.pick(nasty));
        }
    }
}

}  // namespace random_requests
