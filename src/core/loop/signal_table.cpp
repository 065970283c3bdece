// SPDX-License-Identifier: MIT
// Signals become callbacks. The handler sets a bit in the inbox of the loop that owns the signal
// and wakes its driver, which is all that is safe there; the loop looks at the bits at each turn. A
// loop that gives a signal up waits for handlers that are under way on other threads, since they
// use its inbox.

#include "core/loop/signal_table.hpp"

#include "core/loop/scheduled_call.hpp"

#include <weir/error.hpp>

#include <atomic>
#include <bit>
#include <cerrno>
#include <string>
#include <system_error>
#include <thread>

namespace weir::detail {

namespace {

constexpr int highest = 64;
std::atomic<inbox*> owners[highest + 1];  // by signal number
std::atomic<int> handlers_under_way{0};

std::atomic<inbox*> run_owner{nullptr};  // of the one loop whose run ends by signals
std::atomic<std::uint64_t> ending{0};    // the signals that end it, a bit each
std::atomic<int> first_to_end{0};        // the first of them that came

constexpr std::uint64_t bit_of(int number) noexcept {
    return inbox::bit_of(number);
}

constexpr bool ends_a_run(int number) noexcept {
    return number == SIGINT || number == SIGTERM;
}

bool is_second(int number) noexcept {
    int none = 0;
    return (ending.load() & bit_of(number)) != 0 &&
           !first_to_end.compare_exchange_strong(none, number);
}

extern "C" void weir_note_signal(int number) {
    const int former_errno = errno;
    handlers_under_way.fetch_add(1);
    if (is_second(number)) {
        ::signal(number, SIG_DFL);
        ::raise(number);  // takes effect when this handler returns
    } else if (inbox* owner = owners[number].load()) {
        owner->put_signal(number);
    }
    handlers_under_way.fetch_sub(1);
    errno = former_errno;
}

bool is_default(int number) noexcept {
    struct sigaction present{};
    return ::sigaction(number, nullptr, &present) == 0 && present.sa_handler == SIG_DFL &&
           (present.sa_flags & SA_SIGINFO) == 0;
}

}  // namespace

// Null if another loop has the signal.
signal_table::entry* signal_table::install(int number) {
    inbox* none = nullptr;
    if (!owners[number].compare_exchange_strong(none, &mail_)) {
        return nullptr;
    }
    entry& added = entries_[number];
    struct sigaction action{};
    action.sa_handler = weir_note_signal;
    action.sa_flags = SA_RESTART;
    ::sigemptyset(&action.sa_mask);
    if (::sigaction(number, &action, &added.former) != 0) {
        const int error = errno;
        owners[number].store(nullptr);
        entries_.erase(number);
        throw invalid_argument("on_signal: signal " + std::to_string(number) +
                               " cannot be handled: " + std::system_category().message(error));
    }
    return &added;
}

void signal_table::uninstall(std::map<int, entry>::iterator place) noexcept {
    const int number = place->first;
    ::sigaction(number, &place->second.former, nullptr);
    ending.fetch_and(~bit_of(number));
    owners[number].store(nullptr);
    while (handlers_under_way.load() != 0) {
        std::this_thread::yield();
    }
    mail_.forget_signal(number);
    entries_.erase(place);
}

void signal_table::set(int number, function callback, std::source_location where) {
    if (number < 1 || number > highest) {
        throw invalid_argument("on_signal: " + std::to_string(number) + " is no signal number");
    }
    if (!mail_.driver().wakes_from_signals()) {
        throw invalid_state("on_signal: signals cannot wake the " +
                            std::string(mail_.driver().name()) + " driver");
    }
    auto shared = std::make_shared<function>(std::move(callback));
    const auto found = entries_.find(number);
    entry* const own = found != entries_.end() ? &found->second : install(number);
    if (own == nullptr) {
        const bool ends_other_run = (ending.load() & bit_of(number)) != 0;
        throw invalid_state("on_signal: another loop handles signal " + std::to_string(number) +
                            (ends_other_run ? ", to end its run (loop_options::signals)" : ""));
    }
    ending.fetch_and(~bit_of(number));
    own->of_user = std::move(shared);
    own->registered = where;
}

bool signal_table::remove(int number) noexcept {
    const auto found = entries_.find(number);
    if (found == entries_.end() || found->second.of_user == nullptr) {
        return false;
    }
    if (found->second.of_run == nullptr) {
        uninstall(found);
        return true;
    }
    found->second.of_user = nullptr;
    mail_.forget_signal(number);
    if (ends_a_run(number)) {
        ending.fetch_or(bit_of(number));
    }
    return true;
}

void signal_table::close() noexcept {
    while (!entries_.empty()) {
        uninstall(entries_.begin());
    }
}

void signal_table::set_for_run(int number, function callback) {
    if (!is_default(number)) {
        return;
    }
    if (entry* const added = install(number)) {
        added->of_run = std::make_shared<function>(std::move(callback));
        if (ends_a_run(number)) {
            ending.fetch_or(bit_of(number));
        }
    }
}

void signal_table::remove_for_run(int number) noexcept {
    const auto found = entries_.find(number);
    if (found == entries_.end() || found->second.of_run == nullptr) {
        return;
    }
    found->second.of_run = nullptr;
    if (found->second.of_user == nullptr) {
        uninstall(found);
    }
}

bool signal_table::claim_process() noexcept {
    inbox* none = nullptr;
    if (!run_owner.compare_exchange_strong(none, &mail_)) {
        return false;
    }
    first_to_end.store(0);
    return true;
}

void signal_table::release_process() noexcept {
    run_owner.store(nullptr);
}

int signal_table::first_signal() noexcept {
    return first_to_end.load();
}

void signal_table::queue_callbacks(std::uint64_t arrived) noexcept {
    for (; arrived != 0; arrived &= arrived - 1) {
        const int number = std::countr_zero(arrived) + 1;
        const auto found = entries_.find(number);
        if (found != entries_.end()) {
            queue_callback(
                home_, [this, number] { call(number); }, nullptr, found->second.registered);
        }
    }
}

// Looks the callback up when its turn comes: one that was removed meanwhile is not called.
void signal_table::call(int number) {
    const auto found = entries_.find(number);
    if (found != entries_.end()) {
        const entry& present = found->second;
        const shared_function keep = present.of_user != nullptr ? present.of_user : present.of_run;
        (*keep)();
    }
}

}  // namespace weir::detail
