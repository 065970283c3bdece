// SPDX-License-Identifier: MIT
// Ids need not be secret, only different: 128 bits of a generator that the system seeds.

#include "base/ascii.hpp"
#include "base/quoted.hpp"

#include <weir/http/answered.hpp>
#include <weir/http/request_id.hpp>

#include <algorithm>
#include <cstdint>
#include <random>

namespace weir::http {

namespace {
constexpr std::string_view header_name = "X-Request-Id";
constexpr std::size_t max_length = 128;
}  // namespace

bool request_ids::is_sane(std::string_view text) noexcept {
    return !text.empty() && text.size() <= max_length &&
           std::all_of(text.begin(), text.end(), [](char each) {
               return base::is_alphanumeric(each) ||
                      std::string_view("-._:/+=@").find(each) != std::string_view::npos;
           });
}

std::string request_ids::make() {
    thread_local std::mt19937_64 source = [] {
        std::random_device device;
        std::seed_seq seed{device(), device(), device(), device(), device(), device()};
        return std::mt19937_64(seed);
    }();
    std::string id;
    id.reserve(32);
    base::append_hex(id, std::uint64_t{source()});
    base::append_hex(id, std::uint64_t{source()});
    return id;
}

task<response> request_ids::operator()(request& request, next inner) const {
    const std::string_view received = request.header(header_name);
    const std::string id = takes_given_ && is_sane(received) ? std::string(received) : make();
    request.attach(request_id{id});
    response answer = co_await answered(inner, request);
    answer.headers().set(header_name, id);
    co_return answer;
}

}  // namespace weir::http
