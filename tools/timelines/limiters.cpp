// SPDX-License-Identifier: MIT
// Two limiters with the same average rate. Each is played twice: with callers that take no for an
// answer, and with callers that wait.

#include "chart.hpp"
#include "traffic.hpp"

#include <weir/flow/sliding_window.hpp>
#include <weir/flow/token_bucket.hpp>

namespace timelines {

namespace {

struct seen {
    std::vector<double> passed;                     // start times of requests that passed at once
    std::vector<double> turned_away;                // times of requests that were refused at once
    std::vector<std::pair<double, double>> waited;  // begin and end of the wait
    std::vector<double>
        gave_up;  // times of waiters that were refused because the wait would be too long
};

template <class Limiter>
void play_impatient(Limiter& limiter, seen& all) {
    simulate([&] {
        return play([&](clock::time_point, clock::duration at) -> task<> {
            (limiter.try_acquire() ? all.passed : all.turned_away).push_back(seconds(at));
            co_return;
        });
    });
}
template <class Limiter>
void play_patient(Limiter& limiter, seen& all) {
    simulate([&] {
        return play([&](clock::time_point begin, clock::duration at) -> task<> {
            const auto in = co_await limiter.admit();
            if (in) {
                all.waited.emplace_back(seconds(at), seconds(elapsed(begin)));
            } else {
                all.gave_up.push_back(seconds(at));
            }
        });
    });
}

chart draw_rows(const seen& all, std::string_view title, std::string_view subtitle) {
    chart drawing(title, subtitle, 420);
    drawing.time_axis(70, 370);
    drawing.row(96, "arrivals");
    for (const clock::duration at : arrivals()) {
        drawing.tick(seconds(at), 78, 95, "arrival");
    }
    drawing.row(142, "try_acquire()", "refuses at once");
    for (const double at : all.turned_away) {
        drawing.tick(at, 134, 141, "refused");
    }
    for (const double at : all.passed) {
        drawing.tick(at, 122, 141, "good");
    }
    drawing.row(206, "acquire()", "waits, 4 s at most");
    for (const double at : all.gave_up) {
        drawing.tick(at, 166, 173, "refused");
    }
    for (const auto& [from, to] : all.waited) {
        drawing.line(chart::x(from), 168, chart::x(to), 190, "delay");
        drawing.tick(to, 190, 205, "good");
    }
    drawing.key(chart::left, 404, "arrival", "a request");
    drawing.key(chart::left + 90, 404, "good", "let through");
    drawing.key(chart::left + 190, 404, "refused", "refused");
    drawing.text(chart::left + 270, 404, "slanted lines: from asking to being let through",
                 "small");
    return drawing;
}

}  // namespace

std::string token_bucket_timeline() {
    const weir::token_bucket_options options{.rate = 2, .burst = 5, .max_wait = 4s};
    seen all;
    std::vector<std::pair<double, double>> level;
    {
        weir::token_bucket bucket(options);
        simulate([&]() -> task<> {
            const clock::time_point begin = weir::now();
            auto watch = weir::spawn([&]() -> task<> {
                while (elapsed(begin) < 24s) {
                    const double tokens = bucket.decision().available(weir::now());
                    level.emplace_back(chart::x(seconds(elapsed(begin))), 360 - 120 * tokens / 6);
                    co_await weir::sleep(25ms);
                }
            });
            co_await play([&](clock::time_point, clock::duration at) -> task<> {
                (bucket.try_acquire() ? all.passed : all.turned_away).push_back(seconds(at));
                co_return;
            });
            co_await watch;
        });
    }
    weir::token_bucket patient(options);
    play_patient(patient, all);

    const char* const title = "Token bucket: 2 each second, a burst of 5";
    chart drawing =
        draw_rows(all, title,
                  "A burst passes as long as there are tokens; then they pass at the rate "
                  "at which tokens come.");
    drawing.value_axis(240, 360, 6, 1, "tokens");
    drawing.text(chart::left + 6, 236, "tokens in the bucket of try_acquire()", "small");
    drawing.path(level, "level");
    return drawing.svg(title);
}

std::string sliding_window_timeline() {
    const weir::sliding_window_options options{.limit = 5, .window = 2500ms, .max_wait = 4s};
    seen all;
    weir::sliding_window impatient(options);
    play_impatient(impatient, all);
    weir::sliding_window patient(options);
    play_patient(patient, all);

    const char* const title = "Sliding window: 5 in any 2.5 seconds";
    chart drawing =
        draw_rows(all, title,
                  "The same average rate as the bucket, and strict: wherever a window of "
                  "2.5 s is laid, it holds 5 at most.");
    drawing.value_axis(240, 360, 6, 1, "in window");
    drawing.text(chart::left + 6, 236, "let through by try_acquire() in the 2.5 s before", "small");
    drawing.line(chart::left, 260, chart::width - chart::right, 260, "bound");
    std::vector<std::pair<double, double>> level;
    for (int step = 0; step <= 960; ++step) {
        const double at = step * 0.025;
        const auto count = std::count_if(all.passed.begin(), all.passed.end(), [at](double passed) {
            return passed <= at && passed > at - 2.5;
        });
        level.emplace_back(chart::x(at), 360 - 120 * static_cast<double>(count) / 6);
    }
    drawing.path(level, "level");
    return drawing.svg(title);
}

}  // namespace timelines
