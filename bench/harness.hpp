// SPDX-License-Identifier: MIT
//
// What every C++ benchmark program shares: the command line, the repetitions, and the one line of
// JSON per measurement that run.py reads.
//
//   program [--workload NAME|all] [--reps N] [--quick] [--list]
//   {"workload": "yield_1", "value": 4.2, "unit": "ns", "cpu_share": 0.998}
//
// The best of N repetitions counts, since noise only ever adds time. A repetition in which the
// process got less than 95 % of a core measured its neighbours and is left out; where none
// qualifies, the best of all is printed with "unreliable": true.
#pragma once

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <system_error>
#include <vector>

namespace bench {

inline constexpr double least_share = 0.95;

inline double clock_ns(clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// The resident set in bytes. statm and not getrusage: ru_maxrss is a maximum and never falls.
inline double resident_bytes() {
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    unsigned long total = 0;
    unsigned long resident = 0;
    if (file == nullptr || std::fscanf(file, "%lu %lu", &total, &resident) != 2) std::abort();
    std::fclose(file);
    return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// Makes the optimiser believe that the value is used, and that memory may have changed.
template <typename T>
inline void keep(const T& value) {
    asm volatile("" : : "r,m"(value) : "memory");
}

// A benchmark that computed something else than it claims is worse than none.
inline void require(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "benchmark broken: %s\n", what);
    std::_Exit(3);
}

// What one repetition gives back.
struct reading {
    double value;
    double cpu_share;
};

class stopwatch {
public:
    stopwatch() { restart(); }

    void restart() {
        wall_ = clock_ns(CLOCK_MONOTONIC);
        cpu_ = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    }

    // Wall time per operation: what the caller of a busy loop waits for.
    [[nodiscard]] reading per_operation(std::uint64_t operations) const {
        const double cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_;
        const double wall = clock_ns(CLOCK_MONOTONIC) - wall_;
        return {wall / static_cast<double>(operations), cpu / wall};
    }

    // CPU time per operation, for work that mostly sleeps.
    [[nodiscard]] reading cpu_per_operation(std::uint64_t operations) const {
        const double cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_;
        const double wall = clock_ns(CLOCK_MONOTONIC) - wall_;
        return {cpu / static_cast<double>(operations), cpu / wall};
    }

private:
    double wall_ = 0;
    double cpu_ = 0;
};

struct options {
    std::string_view workload = "all";
    int reps = 0;
    bool quick = false;
    bool list = false;
    std::uint64_t quick_divisor = 10;

    // The size of a workload: the full count, or less of it in a quick run.
    [[nodiscard]] std::uint64_t count(std::uint64_t full) const {
        return quick ? full / quick_divisor : full;
    }
};

enum class kind {
    busy,   // keeps one core busy: the 95 % rule applies
    sleepy  // waits for the clock: it does not
};

enum class better { lower, higher };

struct workload {
    std::string_view name;
    reading (*repetition)(const options&);
    std::string_view unit = "ns";
    kind what = kind::busy;
    int most_reps = 1000;  // 1 where a second repetition in the same process would mean nothing
    better value = better::lower;
};

namespace detail {

inline void measure(const workload& w, const options& o) {
    const int wanted = std::min(o.reps > 0 ? o.reps : (o.quick ? 3 : 5), w.most_reps);
    const double budget_ns = o.quick ? 0.6e9 : 6e9;
    const double begin = clock_ns(CLOCK_MONOTONIC);
    reading best{0, 0};
    bool reliable = false;
    int good = 0;
    // Bad repetitions are repeated, up to twice the requested number. The budget keeps a slow peer
    // from delaying all others.
    for (int attempt = 0; attempt < 2 * wanted && good < wanted; ++attempt) {
        if (attempt > 0 && clock_ns(CLOCK_MONOTONIC) - begin > budget_ns) break;
        if (attempt >= w.most_reps) break;
        const reading r = w.repetition(o);
        const bool counts = w.what == kind::sleepy || r.cpu_share >= least_share;
        good += counts ? 1 : 0;
        const bool wins = w.value == better::higher ? r.value > best.value : r.value < best.value;
        if (attempt == 0 || (counts && !reliable) || (counts == reliable && wins)) best = r;
        reliable = reliable || counts;
    }
    std::printf(R"({"workload": "%.*s", "value": %.4g, "unit": "%.*s", "cpu_share": %.3f%s})"
                "\n",
                static_cast<int>(w.name.size()), w.name.data(), best.value,
                static_cast<int>(w.unit.size()), w.unit.data(), best.cpu_share,
                reliable ? "" : R"(, "unreliable": true)");
    std::fflush(stdout);
}

// Each workload in a process of its own: memory is counted from a clean heap, no workload warms
// the allocator for the next, and one that crashes costs only its own line.
inline bool measure_apart(const workload& w, const options& o) {
    const pid_t child = fork();
    if (child == 0) {
        try {
            measure(w, o);
            std::_Exit(0);  // skips teardown, which for a million sleeping tasks takes a while
        } catch (const std::exception& e) {
            std::fprintf(stderr, "%.*s: %s\n", static_cast<int>(w.name.size()), w.name.data(),
                         e.what());
            std::_Exit(2);
        }
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

[[noreturn]] inline void usage(const char* program) {
    std::fprintf(stderr, "usage: %s [--workload NAME|all] [--reps N] [--quick] [--list]\n",
                 program);
    std::exit(64);
}

inline options parse(int argc, char** argv) {
    options o;
    for (int i = 1; i < argc; ++i) {
        const std::string_view arg = argv[i];
        const bool has_value = i + 1 < argc;
        if (arg == "--quick") {
            o.quick = true;
        } else if (arg == "--list") {
            o.list = true;
        } else if (arg == "--workload" && has_value) {
            o.workload = argv[++i];
        } else if (arg == "--reps" && has_value) {
            const std::string_view text = argv[++i];
            const auto [end, error] =
                std::from_chars(text.data(), text.data() + text.size(), o.reps);
            if (error != std::errc{} || end != text.data() + text.size() || o.reps < 1)
                usage(argv[0]);
        } else {
            usage(argv[0]);
        }
    }
    return o;
}

}  // namespace detail

// `quick_divisor`: how much smaller a quick run's counts are. Fast participants say 1, for short
// runs measure badly.
inline int main(int argc, char** argv, const std::vector<workload>& workloads,
                std::uint64_t quick_divisor) {
    options o = detail::parse(argc, argv);
    o.quick_divisor = quick_divisor;
    bool found = false;
    bool ok = true;
    for (const workload& w : workloads) {
        if (o.list) std::printf("%.*s\n", static_cast<int>(w.name.size()), w.name.data());
        if (o.list || (o.workload != "all" && o.workload != w.name)) continue;
        found = true;
        ok = detail::measure_apart(w, o) && ok;
    }
    if (o.list) return 0;
    if (!found) {
        std::fprintf(stderr, "no workload of that name: try --list\n");
        return 64;
    }
    return ok ? 0 : 1;
}

}  // namespace bench
