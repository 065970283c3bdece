// SPDX-License-Identifier: MIT
// A sleep says how far it is twenty times.

#include <weir/service/handlers/trial.hpp>
#include <weir/time.hpp>

#include <chrono>
#include <stdexcept>

namespace weir::service {

namespace json = boost::json;

weir::task<json::value> echo(job& what) {
    const json::value& payload = what.payload();
    if (payload.is_object()) {
        const json::value* const words = payload.get_object().if_contains("fail");
        if (words != nullptr && words->is_string()) {
            throw std::runtime_error(std::string(words->get_string()));
        }
    }
    co_return payload;
}

weir::task<json::value> sleep_handler(job& what) {
    const json::value& payload = what.payload();
    const json::value* asked = &payload;
    if (payload.is_object() && payload.get_object().contains("seconds")) {
        asked = &payload.get_object().at("seconds");
    }
    const double seconds = asked->is_number() ? asked->to_number<double>() : -1;
    if (!(seconds >= 0 && seconds <= 86400)) {
        throw permanent_failure(
            R"(sleep: the payload must be 0 to 86400, or {"seconds": 0 to 86400})");
    }
    constexpr int steps = 20;
    for (int i = 0; i < steps; ++i) {
        what.progress(static_cast<double>(i) / steps);
        co_await sleep(std::chrono::duration_cast<clock::duration>(
            std::chrono::duration<double>(seconds / steps)));
    }
    json::object result;
    result["slept"] = *asked;
    co_return result;
}

}  // namespace weir::service
