// SPDX-License-Identifier: MIT
// Random JSON documents in every spelling: numbers with many digits and odd exponents, blanks,
// escapes, members in any order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace weir_test {

// The first seed decides the value, the second one how it is written.
class random_json {
public:
    random_json(unsigned value, unsigned spelling) : value_(value), spelling_(spelling) {}

    std::string text(int depth = 4) {
        switch (pick(value_, depth > 0 ? 7 : 5)) {
            case 0:
                return "null";
            case 1:
                return pick(value_, 2) == 0 ? "true" : "false";
            case 2:
            case 3:
                return number();
            case 4:
                return string();
            case 5:
                return list('[', ']', depth, false);
            default:
                return list('{', '}', depth, true);
        }
    }
    std::string blanks() {
        static const std::string all[] = {"", "", "", " ", "  ", "\n", "\t", "\r\n "};
        return all[pick(spelling_, 8)];
    }

private:
    static unsigned pick(std::mt19937& from, unsigned count) { return from() % count; }

    std::string list(char open, char close, int depth, bool has_names) {
        std::vector<std::string> parts;
        const unsigned count = pick(value_, 5);
        for (unsigned i = 0; i < count; ++i) {
            std::string part = blanks();
            if (has_names) {
                part += string(std::to_string(i)) + blanks() + ":" + blanks();
            }
            parts.push_back(part + text(depth - 1) + blanks());
        }
        if (has_names) {
            std::shuffle(parts.begin(), parts.end(), spelling_);
        }
        std::string all(1, open);
        for (const std::string& each : parts) {
            all += (all.size() > 1 ? "," : "") + each;
        }
        return all + (parts.empty() ? blanks() : "") + close;
    }

    // Some digits, and where the point stands.
    std::string number() {
        std::string digits(1, static_cast<char>('1' + pick(value_, 9)));
        for (unsigned i = pick(value_, 4) == 0 ? pick(value_, 30) : pick(value_, 5); i > 0; --i) {
            digits += static_cast<char>('0' + pick(value_, 10));
        }
        int exponent = static_cast<int>(pick(value_, 41)) - 20;
        const bool is_zero = pick(value_, 12) == 0;
        if (is_zero) {
            digits = "0";
        }
        std::string text = pick(value_, 3) == 0 ? "-" : "";
        for (unsigned i = pick(spelling_, 3); i > 0 && !is_zero; --i) {
            digits += '0';
            --exponent;
        }
        // The digits before the point; a 0 stands there if there are none.
        const auto before = is_zero ? 1 : pick(spelling_, static_cast<unsigned>(digits.size()) + 1);
        text += before == 0 ? "0" : digits.substr(0, before);
        exponent += static_cast<int>(digits.size() - before);
        if (before < digits.size()) {
            text += "." + digits.substr(before);
        } else if (pick(spelling_, 4) == 0) {
            text += ".00";
        }
        if (exponent != 0 || pick(spelling_, 5) == 0) {
            text += pick(spelling_, 2) == 0 ? "e" : "E";
            text += exponent < 0 ? "-" : pick(spelling_, 2) == 0 ? "+" : "";
            text += pick(spelling_, 4) == 0 ? "0" : "";
            text += std::to_string(exponent < 0 ? -exponent : exponent);
        }
        return text;
    }

    std::string string(const std::string& beginning = "") {
        static const std::uint32_t characters[] = {'a', 'Z',  '0',  ' ',  '"',     '\\',
                                                   '/', '\n', '\t', 0x1f, 0xe9,    0x20ac,
                                                   '{', ']',  ':',  ',',  0x1f600, 0x7f};
        std::string text = "\"" + beginning;
        for (unsigned i = pick(value_, 8); i > 0; --i) {
            text += character(characters[pick(value_, std::size(characters))]);
        }
        return text + "\"";
    }

    std::string character(std::uint32_t code) {
        const bool must_escape = code < 0x20 || code == '"' || code == '\\';
        if (must_escape && pick(spelling_, 2) == 0) {
            switch (code) {
                case '"':
                    return "\\\"";
                case '\\':
                    return "\\\\";
                case '\n':
                    return "\\n";
                case '\t':
                    return "\\t";
                default:
                    break;
            }
        }
        if (code == '/' && pick(spelling_, 2) == 0) {
            return "\\/";
        }
        if (!must_escape && pick(spelling_, 4) != 0) {
            return code < 0x80      ? std::string(1, static_cast<char>(code))
                   : code == 0xe9   ? "\u00e9"
                   : code == 0x20ac ? "\u20ac"
                                    : "\U0001f600";
        }
        return code < 0x10000 ? unit(code)
                              : unit(0xd800 + ((code - 0x10000) >> 10)) +
                                    unit(0xdc00 + ((code - 0x10000) & 0x3ff));
    }

    std::string unit(std::uint32_t code) {
        const char* const digits =
            pick(spelling_, 2) == 0 ? "0123456789abcdef" : "0123456789ABCDEF";
        std::string text = "\\u";
        for (int shift = 12; shift >= 0; shift -= 4) {
            text += digits[code >> shift & 15];
        }
        return text;
    }

    std::mt19937 value_;
    std::mt19937 spelling_;
};

}  // namespace weir_test
