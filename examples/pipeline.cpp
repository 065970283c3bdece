// SPDX-License-Identifier: MIT
// P14: policies composed: a fallback around a deadline around retries around a breaker, a limiter
// and a timeout
#include <weir/flow/circuit_breaker.hpp>
#include <weir/flow/fallback.hpp>
#include <weir/flow/pipeline.hpp>
#include <weir/flow/prometheus.hpp>
#include <weir/flow/retry.hpp>
#include <weir/flow/timeout_policy.hpp>
#include <weir/flow/token_bucket.hpp>
#include <weir/weir.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

// A service that works, then is down for a while, then works again.
struct weather_service {
    weir::clock::time_point down_from;
    weir::clock::time_point up_again;
    int requests = 0;

    weir::task<std::string> forecast() {
        ++requests;
        co_await weir::sleep(50ms);
        if (weir::now() >= down_from && weir::now() < up_again) {
            throw std::runtime_error("503");
        }
        co_return "sunny";
    }
};

// Observes changes of the breaker's state.
struct journal : weir::observer {
    weir::clock::time_point began = weir::now();
    void on_event(const weir::flow_event& event) noexcept override {
        std::printf("%5.1f s  %s: %s\n", std::chrono::duration<double>(event.at - began).count(),
                    std::string(event.kind).c_str(), std::string(event.what).c_str());
    }
};

weir::task<> main_task() {
    weather_service service{.down_from = weir::now() + 10s, .up_again = weir::now() + 40s};
    journal events;

    // Read from the outside in.
    weir::pipeline weather(
        "weather",                                      //
        weir::fallback_policy(std::string("unknown")),  // never an error
        weir::total_timeout{5s},                        // at most this long
        weir::retry_options{.max_attempts = 3, .backoff = weir::constant_backoff(200ms)},
        weir::circuit_breaker_options{
            .consecutive_failures = 3, .open_for = 15s, .observer = &events},
        weir::token_bucket_options{.rate = 10, .burst = 5},  // asks gently
        weir::attempt_timeout{1s});

    std::string last;
    const auto began = weir::now();
    while (weir::now() - began < 60s) {
        const std::string now = co_await weather.run([&] { return service.forecast(); });
        if (now != last) {
            std::printf("%5.1f s  the weather is %s\n",
                        std::chrono::duration<double>(weir::now() - began).count(), now.c_str());
            last = now;
        }
        co_await weir::sleep(1s);
    }

    const weir::pipeline_stats& stats = weather.stats();
    std::printf("%d calls, all answered: %s; %d requests reached the service\n",
                static_cast<int>(stats.calls), stats.succeeded == stats.calls ? "yes" : "no",
                service.requests);

    weir::metrics all;
    auto shown = all.add(weather);
    const std::string page = all.prometheus();
    std::printf("%s\n", page.substr(page.find("# HELP weir_pipeline_calls_total"),
                                    page.find("# HELP weir_retry") -
                                        page.find("# HELP weir_pipeline_calls_total"))
                            .c_str());
}

int main() {
    weir::run(main_task(), {.driver = weir::driver_kind::simulated});
}
