// SPDX-License-Identifier: MIT
// A fuzz target: a function of bytes whose checks must hold for every input.
//
//     WEIR_FUZZ_TARGET(url) {
//         auto parsed = url::try_parse(input);
//         fuzz::require(!parsed || parsed->text() == ..., "one normal form");
//     }
//
// `./dev fuzz` runs all targets under libFuzzer; the ordinary tests run them with the files in
// corpus/<target>/, which include all inputs that once failed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace fuzz {

// No target catches it.
class finding : public std::logic_error {
public:
    using std::logic_error::logic_error;
};

inline void require(bool holds, const char* what) {
    if (!holds) {
        throw finding(what);
    }
}
template <class T>
void require_equal(const T& left, const T& right, const char* what) {
    require(left == right, what);
}

struct target {
    std::string_view name;
    void (*run)(std::string_view input);
};

inline std::vector<target>& targets() {
    static std::vector<target> all;
    return all;
}

struct registration {
    registration(std::string_view name, void (*run)(std::string_view)) {
        targets().push_back({name, run});
    }
};

// Numbers that depend on the input alone: a finding can be repeated.
class dice {
public:
    explicit dice(std::string_view input) noexcept {
        for (const char each : input) {
            state_ = (state_ ^ static_cast<unsigned char>(each)) * 0x100000001b3;
        }
    }
    std::size_t up_to(std::size_t most) noexcept {
        state_ += 0x9e3779b97f4a7c15;
        std::uint64_t mixed = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
        return static_cast<std::size_t>((mixed ^ (mixed >> 31)) % (most + 1));
    }

private:
    std::uint64_t state_ = 0xcbf29ce484222325;
};

}  // namespace fuzz

#define WEIR_FUZZ_TARGET(name)                                                \
    static void fuzz_##name(std::string_view input);                          \
    static const ::fuzz::registration registered_##name(#name, &fuzz_##name); \
    static void fuzz_##name([[maybe_unused]] std::string_view input)
