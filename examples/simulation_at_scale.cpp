// SPDX-License-Identifier: MIT
// P7: a million clients against a limiter per client and 1000 workers, one hour in less than a
// minute
//
//     simulation_at_scale [--full] [plot.svg]
//
// Clients send requests at random; a few of them far too many. Requests that the limiter admits go
// to workers, which call one of ten dependencies behind retry, breaker, bulkhead and timeout. One
// dependency fails for a while, another hangs, and there is a rush. All of it happens in simulated
// time, and rules that must hold are checked at every step against the plainest possible model.
// Without --full: a hundredth of everything.
#include <weir/flow/bulkhead.hpp>
#include <weir/flow/circuit_breaker.hpp>
#include <weir/flow/keyed.hpp>
#include <weir/flow/keyed_limiter.hpp>
#include <weir/flow/pipeline.hpp>
#include <weir/flow/retry.hpp>
#include <weir/flow/timeout_policy.hpp>
#include <weir/weir.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

using namespace std::chrono_literals;

constexpr int minutes = 60;
constexpr unsigned dependencies = 10;
constexpr unsigned trial_calls = 3;
constexpr auto token_time = 5min;  // a client may send 12 an hour, and 10 at once
constexpr int burst = 10;

struct scale {
    unsigned clients;
    unsigned workers;
    double per_second;  // requests of all clients together
};
constexpr scale full{1'000'000, 1000, 3000};
constexpr scale small{10'000, 10, 30};

// One minute of the hour.
struct tally {
    std::uint64_t sent = 0;
    std::uint64_t limited = 0;  // refused by the client's limit
    std::uint64_t shed = 0;     // refused because all workers were busy and the queue full
    std::uint64_t failed = 0;   // the dependency failed, or its breaker was open
    std::uint64_t served = 0;
    unsigned most_busy = 0;
    std::array<bool, dependencies> was_open{};

    void add(const tally& other) {
        sent += other.sent;
        limited += other.limited;
        shed += other.shed;
        failed += other.failed;
        served += other.served;
        most_busy = std::max(most_busy, other.most_busy);
        for (std::size_t i = 0; i < dependencies; ++i) {
            was_open[i] = was_open[i] || other.was_open[i];
        }
    }
};

auto make_calls(int dependency, const scale& size, weir::retry_budget& budget) {
    return weir::pipeline(
        std::to_string(dependency),
        weir::retry_options{
            .max_attempts = 3,
            .backoff = weir::exponential_backoff(50ms, 1s),
            .retry_if = [](const weir::outcome_view& ended) { return ended.has_error(); },
            .budget = &budget},
        weir::circuit_breaker_options{.failure_rate = 0.5,
                                      .window_calls = 20,
                                      .minimum_calls = 10,
                                      .open_for = 10s,
                                      .trial_calls = trial_calls},
        weir::bulkhead_options{.max_concurrent = std::max<std::size_t>(size.workers / 2, 1),
                               .max_waiting = 0},
        weir::attempt_timeout{1s});
}

class simulation {
public:
    explicit simulation(const scale& size) : size_(size), model_(size.clients, never_) {}

    weir::task<> run() {
        begin_ = weir::now();
        auto generate = [this]() -> weir::task<> { return send_requests(); };
        auto work = [this]() -> weir::task<> { return serve_requests(); };
        auto everything = [&](weir::task_group& group) -> weir::task<> {
            for (unsigned i = 0; i < size_.workers; ++i) {
                group.spawn(work);
            }
            group.spawn(generate);
            co_return;
        };
        co_await weir::with_group(everything);
        report();
    }
    bool is_right() const { return violations_ == 0; }
    void plot(const std::string& file) const;

private:
    using calls = decltype(make_calls(0, full, std::declval<weir::retry_budget&>()));

    weir::task<> send_requests() {
        while (weir::now() - begin_ < minutes * 1min) {
            const bool is_rush = minute() >= 40 && minute() < 45;
            const double gap = -std::log(1 - uniform()) / (size_.per_second * (is_rush ? 2 : 1));
            co_await weir::sleep(std::chrono::nanoseconds(std::llround(gap * 1e9) + 1));
            // One in ten comes from one client in a thousand.
            const unsigned among = uniform() < 0.1 ? size_.clients / 1000 : size_.clients;
            send(static_cast<unsigned>(uniform() * among));
        }
        queue_.close();
    }

    void send(unsigned client) {
        ++now_tally().sent;
        const bool let_in = limiter_.try_acquire(client).has_value();
        // The model: when the client's bucket will be full again.
        const auto full_at = std::max(model_[client], weir::now()) + token_time;
        const bool may_pass = full_at <= weir::now() + burst * token_time;
        check(let_in == may_pass, "the limiter decides like a bucket that is never forgotten");
        if (!let_in) {
            ++now_tally().limited;
            return;
        }
        model_[client] = full_at;
        ++admitted_;
        if (!queue_.try_put(client)) {
            ++now_tally().shed;
        }
    }

    weir::task<> serve_requests() {
        for (;;) {
            const auto next = co_await queue_.next();
            if (!next) {
                co_return;
            }
            ++busy_;
            check(busy_ <= size_.workers, "no more requests at a time than workers");
            now_tally().most_busy = std::max(now_tally().most_busy, busy_);
            const int dependency = static_cast<int>(*next % dependencies);
            auto to = registry_.get(dependency);
            auto call = [&] { return depend_on(dependency, to->get<weir::circuit_breaker>()); };
            const weir::outcome<int> answer = co_await to->settle(call);
            ++(answer.has_value() ? now_tally().served : now_tally().failed);
            if (answer.is_refused() &&
                answer.refusal().reason == weir::refusal_reason::circuit_open) {
                now_tally().was_open[static_cast<std::size_t>(dependency)] = true;
            }
            --busy_;
        }
    }

    // A call to the world outside.
    weir::task<int> depend_on(int which, weir::circuit_breaker& breaker) {
        const weir::circuit_state state = breaker.state();
        check(state != weir::circuit_state::open, "an open breaker lets nothing through");
        check(breaker.stats().in_flight() <= trial_calls || state != weir::circuit_state::half_open,
              "a half-open one no more than its trials");
        if (which == 3 && minute() >= 10 && minute() < 16) {
            co_await weir::sleep(20ms);
            throw std::runtime_error("out of order");
        }
        const bool hangs = which == 7 && minute() >= 25 && minute() < 32;
        const weir::clock::duration takes =
            hangs ? 10s : std::chrono::milliseconds(100 + random_() % 200);
        co_await weir::sleep(takes);
        co_return which;
    }

    double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
    int minute() const { return static_cast<int>((weir::now() - begin_) / 1min); }
    tally& now_tally() { return tallies_[static_cast<std::size_t>(std::min(minute(), minutes))]; }
    void check(bool holds, const char* rule) {
        ++checks_;
        if (!holds && violations_++ == 0) {
            std::cout << "broken after " << minute() << " minutes: " << rule << '\n';
        }
    }
    void report();

    static constexpr auto never_ = weir::clock::time_point::min();
    const scale size_;
    std::mt19937_64 random_{42};
    weir::clock::time_point begin_;
    weir::keyed_limiter<unsigned> limiter_{{.rate = 1,
                                            .per = token_time,
                                            .burst = burst,
                                            .max_keys = size_.clients,
                                            .seed = weir::hash_seed::fixed(42)}};
    std::vector<weir::clock::time_point> model_;
    weir::queue<unsigned> queue_{2 * size_.workers};
    weir::retry_budget budget_{weir::ratio_budget{.ratio = 0.1}};
    weir::keyed<int, calls> registry_{{.max_size = dependencies}, [this](const int& which) {
                                          return make_calls(which, size_, budget_);
                                      }};
    std::array<tally, minutes + 1> tallies_{};  // the last: requests that end after the hour
    unsigned busy_ = 0;
    std::uint64_t admitted_ = 0;
    std::uint64_t checks_ = 0;
    std::uint64_t violations_ = 0;
};

void simulation::report() {
    tally all;
    std::cout << "minute    sent  limited     shed   failed   served  busy  open\n";
    for (int first = 0; first < minutes; first += 5) {
        tally sum;
        std::string open;
        for (int i = first; i < first + 5; ++i) {
            sum.add(tallies_[static_cast<std::size_t>(i)]);
        }
        for (std::size_t each = 0; each < dependencies; ++each) {
            if (sum.was_open[each]) {
                open.append(1, ' ').append(std::to_string(each));
            }
        }
        const auto number = [](std::uint64_t value) {
            return static_cast<unsigned long long>(value);
        };
        char line[160];
        std::snprintf(line, sizeof line, "%6d %7llu %8llu %8llu %8llu %8llu %5u %s\n", first,
                      number(sum.sent), number(sum.limited), number(sum.shed), number(sum.failed),
                      number(sum.served), sum.most_busy, open.c_str());
        std::cout << line;
    }
    for (const tally& one : tallies_) {
        all.add(one);
    }
    check(all.sent == all.limited + all.shed + all.failed + all.served, "every request is told");
    check(all.sent == limiter_.stats().granted + limiter_.stats().limited,
          "the limiter has counted them");
    check(admitted_ == limiter_.stats().granted, "and so has the model");
    std::cout << all.sent << " requests of " << size_.clients << " clients: " << all.served
              << " served, " << all.failed << " failed, " << all.limited << " over the limit, "
              << all.shed << " shed\n"
              << (is_right() ? "all rules held in " : "RULES WERE BROKEN: ") << checks_
              << " checks\n";
}

// The outcomes of the requests, as layers over time; below, the breakers that were open.
void simulation::plot(const std::string& file) const {
    constexpr int left = 60, top = 40, width = 720, height = 240, rows = top + height + 40;
    std::uint64_t most = 1;
    for (int i = 0; i < minutes; ++i) {
        most = std::max(most, tallies_[static_cast<std::size_t>(i)].sent);
    }
    std::ofstream svg(file);
    svg << "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 820 420' font-family='sans-serif' "
           "font-size='12' fill='#222'>\n<rect width='820' height='420' fill='#fff'/>\n"
        << "<text x='" << left
        << "' y='24' font-size='15'>One simulated hour: requests a second of " << size_.clients
        << " clients, " << size_.workers << " workers</text>\n";
    const auto x = [&](int at) { return left + width * at / minutes; };
    const auto y = [&](std::uint64_t value) {
        return top + height -
               static_cast<int>(static_cast<double>(value) / static_cast<double>(most) * height);
    };
    const struct {
        const char* name;
        const char* colour;
        std::uint64_t (*value)(const tally&);
    } layers[] = {
        {"over the limit", "#9aa5b1",
         [](const tally& of) { return of.served + of.failed + of.shed + of.limited; }},
        {"shed", "#e0b13c", [](const tally& of) { return of.served + of.failed + of.shed; }},
        {"failed", "#c8443a", [](const tally& of) { return of.served + of.failed; }},
        {"served", "#3b7dba", [](const tally& of) { return of.served; }}};
    int legend = left;
    for (const auto& layer : layers) {
        svg << "<path fill='" << layer.colour << "' d='M" << x(0) << ',' << y(0);
        for (int i = 0; i < minutes; ++i) {
            const int level = y(layer.value(tallies_[static_cast<std::size_t>(i)]));
            svg << " L" << x(i) << ',' << level << " L" << x(i + 1) << ',' << level;
        }
        svg << " L" << x(minutes) << ',' << y(0) << " Z'/>\n"
            << "<rect x='" << legend << "' y='395' width='12' height='12' fill='" << layer.colour
            << "'/><text x='" << legend + 18 << "' y='405'>" << layer.name << "</text>\n";
        legend += 130;
    }
    const auto step = static_cast<std::uint64_t>(
        std::pow(10, std::floor(std::log10(static_cast<double>(most) / 120))));
    for (std::uint64_t value = 0; value * 60 <= most; value += step) {
        svg << "<text x='" << left - 8 << "' y='" << y(value * 60) + 4 << "' text-anchor='end'>"
            << value << "</text>\n";
    }
    for (int at = 0; at <= minutes; at += 10) {
        svg << "<text x='" << x(at) << "' y='" << top + height + 18 << "' text-anchor='middle'>"
            << at << " min</text>\n";
    }
    int row = rows;
    for (std::size_t each = 0; each < dependencies; ++each) {
        const auto is_open = [each](const tally& of) { return of.was_open[each]; };
        if (std::none_of(tallies_.begin(), tallies_.end(), is_open)) {
            continue;
        }
        svg << "<text x='" << left - 8 << "' y='" << row + 10 << "' text-anchor='end'>no. " << each
            << "</text>\n";
        for (int i = 0; i < minutes; ++i) {
            if (is_open(tallies_[static_cast<std::size_t>(i)])) {
                svg << "<rect x='" << x(i) << "' y='" << row << "' width='" << width / minutes
                    << "' height='12' fill='#c8443a'/>\n";
            }
        }
        row += 18;
    }
    svg << "<text x='" << left + 4 << "' y='" << row + 12
        << "'>minutes in which the breaker of a dependency was open</text>\n</svg>\n";
}

int main(int argc, char** argv) {
    const std::vector<std::string> given(argv + 1, argv + argc);
    const bool is_full = std::find(given.begin(), given.end(), "--full") != given.end();
    simulation hour(is_full ? full : small);
    const auto begin = std::chrono::steady_clock::now();
    weir::run(hour.run(), {.driver = weir::driver_kind::simulated});
    if (is_full) {
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        std::cout << "in " << took.count() << " s of real time\n";
    }
    if (!given.empty() && given.back() != "--full") {
        hour.plot(given.back());
    }
    return hour.is_right() ? 0 : 1;
}
