// SPDX-License-Identifier: MIT
//
// Suite db on Weir's Redis client: all tasks on one client, or each on its own.
#include "measuring.hpp"

#include <weir/db/redis/client.hpp>

#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

namespace {

namespace redis = weir::redis;

weir::task<> get(const bench::db_arguments& as, std::size_t clients) {
    std::vector<std::unique_ptr<redis::client>> all;
    const auto port = static_cast<std::uint16_t>(std::strtoul(as.where.c_str(), nullptr, 10));
    for (std::size_t i = 0; i < clients; ++i) {
        all.push_back(std::make_unique<redis::client>(redis::client_options{.port = port}));
    }
    auto reader = [&](std::size_t number, std::uint64_t& done) -> weir::task<> {
        redis::client& client = *all[number % all.size()];
        std::minstd_rand random(static_cast<unsigned>(number + 1));
        char key[32];
        for (;;) {
            std::snprintf(key, sizeof key, "key:%012u", static_cast<unsigned>(random() % 10'000));
            const redis::value found = co_await client.command("GET", std::string_view(key, 16));
            if (found.text().size() != 16) {
                throw std::runtime_error("another answer");
            }
            ++done;
        }
    };
    co_await bench::measure(as, reader);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::db_arguments as = bench::db_arguments::parse(argc, argv);
    if (!as.workload.starts_with("redis_64")) {
        return 64;
    }
    weir::loop loop({.driver = as.driver});
    loop.run(get(as, as.workload == "redis_64" ? 1 : as.in_flight));
}
