// SPDX-License-Identifier: MIT
// Ids need not be secret, only different: random bits of the system's generator.

#include <weir/http/answered.hpp>
#include <weir/http/request_id.hpp>

#include <algorithm>
#include <cstdint>
#include <random>

namespace weir::http {

namespace {
constexpr std::string_view header_name = "X-Request-Id";
constexpr std::size_t longest = 128;
}  // namespace

bool request_ids::is_sane(std::string_view text) noexcept {
    return !text.empty() && text.size() <= longest &&
           std::all_of(text.begin(), text.end(), [](char each) {
               return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
                      (each >= '0' && each <= '9') ||
                      std::string_view("-._:/+=@").find(each) != std::string_view::npos;
           });
}

std::string request_ids::make() {
    thread_local std::mt19937_64 source = [] {
        std::random_device device;
        std::seed_seq seed{device(), device(), device(), device(), device(), device()};
        return std::mt19937_64(seed);
    }();
    constexpr std::string_view digits = "0123456789abcdef";
    std::string made;
    made.reserve(32);
    for (int half = 0; half < 2; ++half) {
        std::uint64_t bits = source();
        for (int i = 0; i < 16; ++i, bits >>= 4) {
            made += digits[bits & 15];
        }
    }
    return made;
}

task<response> request_ids::operator()(request& asked, next inner) const {
    const std::string_view given = asked.header(header_name);
    const std::string id = takes_given_ && is_sane(given) ? std::string(given) : make();
    asked.attach(request_id{id});
    response answer = co_await answered(inner, asked);
    answer.headers().set(header_name, id);
    co_return answer;
}

}  // namespace weir::http
