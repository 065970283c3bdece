// SPDX-License-Identifier: MIT
// A breaker and a backoff while the service is down for four seconds in the middle of the busy
// stretch.

#include "chart.hpp"
#include "traffic.hpp"

#include <weir/flow/circuit_breaker.hpp>
#include <weir/flow/retry.hpp>

namespace timelines {

namespace {

void draw_outage(chart& drawing, double top, double bottom) {
    const double from = chart::x(seconds(outage_begin));
    const double to = chart::x(seconds(outage_end));
    drawing.box(from, top, to - from, bottom - top, "outage");
    drawing.text((from + to) / 2, top + 10, "the service is down", "small", "middle");
}

// How many of the times are in each slice of the axis.
void draw_bars(chart& drawing, const std::vector<double>& times, double slice, double top,
               double bottom, double most) {
    for (double from = 0; from < chart::end; from += slice) {
        const auto count = std::count_if(
            times.begin(), times.end(), [&](double at) { return at >= from && at < from + slice; });
        if (count != 0) {
            const double height = (bottom - top) * static_cast<double>(count) / most;
            drawing.box(chart::x(from) + 0.5, bottom - height,
                        chart::x(from + slice) - chart::x(from) - 1, height, "bar");
        }
    }
}

std::string_view kind_of(weir::circuit_state state) {
    return state == weir::circuit_state::closed ? "closed"
           : state == weir::circuit_state::open ? "open"
                                                : "half";
}

struct attempt {
    double at;
    bool failed;
};

// The attempts of each request, and when the service was called.
struct tries {
    std::vector<std::vector<attempt>> requests;
    std::vector<double> calls;
};

tries play_retries(weir::jitter spread) {
    tries all;
    weir::retry_policy again({.max_attempts = 6,
                              .backoff = {.initial = 250ms, .maximum = 4s, .jitter = spread},
                              .seed = 1});
    simulate([&] {
        return play([&](clock::time_point begin, clock::duration) -> task<> {
            const std::size_t number = all.requests.size();
            all.requests.emplace_back();
            auto call = [&]() -> task<> {
                const double at = seconds(elapsed(begin));
                all.calls.push_back(at);
                all.requests[number].push_back({at, true});
                co_await serve(begin);
                all.requests[number].back().failed = false;
            };
            const auto ended = co_await again.settle(call);
            (void)ended;
        });
    });
    return all;
}

}  // namespace

std::string breaker_timeline() {
    std::vector<weir::circuit_change> changes;
    std::vector<double> good;
    std::vector<double> bad;
    std::vector<double> refused;
    std::vector<double> unprotected_good;
    std::vector<double> unprotected_bad;
    auto note = [&changes](const weir::circuit_change& change) { changes.push_back(change); };
    weir::circuit_breaker breaker({.name = "service",
                                   .consecutive_failures = 3,
                                   .open_for = 1500ms,
                                   .trial_calls = 1,
                                   .on_change = note});
    clock::time_point origin;
    simulate([&]() -> task<> {
        origin = weir::now();
        co_await play([&](clock::time_point begin, clock::duration at) -> task<> {
            const auto ended = co_await breaker.settle([&] { return serve(begin); });
            (ended ? good : ended.is_refused() ? refused : bad).push_back(seconds(at));
        });
    });
    simulate([&] {
        return play([&](clock::time_point begin, clock::duration at) -> task<> {
            const auto ended = co_await weir::settle(serve(begin));
            (ended ? unprotected_good : unprotected_bad).push_back(seconds(at));
        });
    });

    const char* const title = "Circuit breaker: open after 3 failures in a row, for 1.5 s";
    chart drawing(
        title,
        "While it is open no call waits for a service that is down, and the service is left "
        "alone, but for a trial call.",
        340);
    drawing.time_axis(70, 290);
    draw_outage(drawing, 70, 290);
    drawing.row(106, "arrivals");
    for (const clock::duration at : arrivals()) {
        drawing.tick(seconds(at), 88, 105, "arrival");
    }
    drawing.row(156, "without", std::to_string(unprotected_bad.size()) + " calls fail");
    for (const double at : unprotected_good) {
        drawing.tick(at, 136, 155, "good");
    }
    for (const double at : unprotected_bad) {
        drawing.tick(at, 136, 155, "bad");
    }
    drawing.row(206, "with a breaker", std::to_string(bad.size()) + " calls fail");
    for (const double at : good) {
        drawing.tick(at, 186, 205, "good");
    }
    for (const double at : bad) {
        drawing.tick(at, 186, 205, "bad");
    }
    for (const double at : refused) {
        drawing.tick(at, 198, 205, "refused");
    }
    drawing.text(chart::left - 12, 252, "state", "title", "end");
    double from = 0;
    weir::circuit_state state = weir::circuit_state::closed;
    const auto band = [&](double to) {
        drawing.box(chart::x(from), 238, chart::x(to) - chart::x(from), 20, kind_of(state));
        if (to - from > 1.2) {
            drawing.text((chart::x(from) + chart::x(to)) / 2, 272, weir::to_string(state), "small",
                         "middle");
        }
    };
    for (const weir::circuit_change& change : changes) {
        const double at = seconds(change.at - origin);
        band(at);
        from = at;
        state = change.to;
    }
    band(chart::end);
    drawing.key(chart::left, 324, "good", "answered");
    drawing.key(chart::left + 90, 324, "bad", "failed");
    drawing.key(chart::left + 160, 324, "refused", "refused at once");
    drawing.text(chart::left + 280, 324, "state: green closed, red open, amber half-open", "small");
    return drawing.svg(title);
}

std::string backoff_timeline() {
    const tries plain = play_retries(weir::jitter::none());
    const tries spread = play_retries(weir::jitter::equal());

    const char* const title = "Backoff: up to 6 attempts, 250 ms doubling to 4 s";
    chart drawing(title,
                  "Who failed together comes back together, unless the delays are spread: the bars "
                  "are calls to the service in each quarter second.",
                  560);
    drawing.time_axis(70, 510);
    draw_outage(drawing, 70, 510);
    const double most = 16;
    drawing.value_axis(92, 162, most, 8, "no jitter");
    draw_bars(drawing, plain.calls, 0.25, 92, 162, most);
    drawing.value_axis(186, 256, most, 8, "equal jitter");
    draw_bars(drawing, spread.calls, 0.25, 186, 256, most);

    drawing.text(chart::left - 12, 384, "each request", "title", "end");
    drawing.text(chart::left - 12, 398, "equal jitter, a line each", "small", "end");
    const double height = 220.0 / static_cast<double>(spread.requests.size());
    for (std::size_t number = 0; number < spread.requests.size(); ++number) {
        const auto& attempts = spread.requests[number];
        const double y = 282 + height * static_cast<double>(number);
        if (attempts.size() > 1) {
            drawing.line(chart::x(attempts.front().at), y, chart::x(attempts.back().at), y,
                         "again");
        }
        for (const attempt& each : attempts) {
            drawing.dot(chart::x(each.at), y, 1.8, each.failed ? "dot-bad" : "dot-good");
        }
    }
    drawing.dot(chart::left, 540, 2.5, "dot-good");
    drawing.text(chart::left + 7, 544, "an attempt that succeeds", "small");
    drawing.dot(chart::left + 150, 540, 2.5, "dot-bad");
    drawing.text(chart::left + 157, 544, "one that fails", "small");
    return drawing.svg(title);
}

}  // namespace timelines
