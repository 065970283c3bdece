// SPDX-License-Identifier: MIT
// A crash ends the process before the session can print the schedule that led to it. So the seed is
// kept where a signal handler, or the sanitizers' last callback, finds it.

#include "testing/kit/session.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <iterator>

// Part of the sanitizers' runtimes; absent otherwise.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace weir::testing {

namespace {

std::atomic<const std::uint64_t*> current{nullptr};
constexpr int watched[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
struct sigaction former[std::size(watched)];

// Only what a signal handler may call.
void write_seed() noexcept {
    const std::uint64_t* seed = current.exchange(nullptr);
    if (seed == nullptr || *seed == 0) {
        return;
    }
    char text[128];
    std::size_t length = 0;
    for (const char* each = "weir: crashed under a schedule; replay it with WEIR_SEED=";
         *each != '\0'; ++each) {
        text[length++] = *each;
    }
    char digits[20];
    std::size_t count = 0;
    for (std::uint64_t rest = *seed; rest > 0; rest /= 10) {
        digits[count++] = static_cast<char>('0' + rest % 10);
    }
    while (count > 0) {
        text[length++] = digits[--count];
    }
    text[length++] = '\n';
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, length);
}

void on_signal(int number) {
    write_seed();
    for (std::size_t index = 0; index < std::size(watched); ++index) {
        if (watched[index] == number) {
            ::sigaction(number, &former[index], nullptr);
        }
    }
    ::raise(number);
}

void install() noexcept {
    if (__sanitizer_set_death_callback != nullptr) {
        __sanitizer_set_death_callback(write_seed);
        return;
    }
    struct sigaction action{};
    action.sa_handler = on_signal;
    ::sigemptyset(&action.sa_mask);
    for (std::size_t index = 0; index < std::size(watched); ++index) {
        ::sigaction(watched[index], &action, &former[index]);
    }
}

}  // namespace

void note_seed_for_crashes(const std::uint64_t* seed) noexcept {
    [[maybe_unused]] static const bool installed = (install(), true);
    current.store(seed);
}

}  // namespace weir::testing
