// SPDX-License-Identifier: MIT
// Signals become callbacks. The handler sets a bit in the inbox of the loop that owns the signal
// and wakes its driver, which is all that is safe there; the loop looks at the bits at each turn. A
// loop that gives a signal up waits for handlers that are under way on other threads, since they
// hold its inbox.
//
// A run has SIGINT and SIGTERM in the same way, one loop of the process at a time, with one
// addition: the handler itself ends the process at the second of them.

#include "core/loop/interrupt_watch.hpp"
#include "core/loop/loop_state.hpp"
#include "core/runtime/fiber_extras.hpp"

#include <weir/error.hpp>
#include <weir/loop.hpp>

#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <map>
#include <system_error>
#include <thread>

namespace weir {

namespace {

constexpr int highest = 64;
std::atomic<detail::inbox*> owners[highest + 1];  // by signal number
std::atomic<int> under_way{0};

// Of the one loop whose run ends by signals.
std::atomic<detail::inbox*> graceful_owner{nullptr};
std::atomic<std::uint64_t> graceful{0};  // the signals that do it
std::atomic<int> first_signal{0};        // the one that has

constexpr std::uint64_t bit_of(int number) noexcept {
    return std::uint64_t{1} << (number - 1);
}

bool is_second(int number) noexcept {
    int none = 0;
    return (graceful.load() & bit_of(number)) != 0 &&
           !first_signal.compare_exchange_strong(none, number);
}

extern "C" void weir_note_signal(int number) {
    const int former_errno = errno;
    under_way.fetch_add(1);
    if (is_second(number)) {
        ::signal(number, SIG_DFL);
        ::raise(number);  // takes effect when this handler returns
    } else if (detail::inbox* owner = owners[number].load()) {
        owner->signals.fetch_or(bit_of(number));
        owner->driver->wake();
    }
    under_way.fetch_sub(1);
    errno = former_errno;
}

bool is_default(int number) noexcept {
    struct sigaction present{};
    return ::sigaction(number, nullptr, &present) == 0 && present.sa_handler == SIG_DFL &&
           (present.sa_flags & SA_SIGINFO) == 0;
}

}  // namespace

namespace detail {

struct signal_handlers {
    using callback = std::shared_ptr<unique_function<void()>>;  // shared: it may remove itself
    struct entry {
        callback given;  // by on_signal; goes before the run's own
        callback of_run;
        std::source_location registered;
        struct sigaction former{};
    };

    explicit signal_handlers(inbox& at) noexcept : mail(at) {}
    signal_handlers(const signal_handlers&) = delete;
    signal_handlers& operator=(const signal_handlers&) = delete;
    ~signal_handlers() {
        while (!entries.empty()) {
            uninstall(entries.begin());
        }
    }

    static signal_handlers& of(loop& at) {
        auto& place = at.state().signals;
        if (place == nullptr) {
            place.reset(new signal_handlers(*at.state().mail));
        }
        return *place;
    }

    // Null if another loop has the signal.
    entry* install(int number) {
        inbox* nobody = nullptr;
        if (!owners[number].compare_exchange_strong(nobody, &mail)) {
            return nullptr;
        }
        entry& added = entries[number];
        struct sigaction action{};
        action.sa_handler = weir_note_signal;
        action.sa_flags = SA_RESTART;
        ::sigemptyset(&action.sa_mask);
        if (::sigaction(number, &action, &added.former) != 0) {
            const int error = errno;
            owners[number].store(nullptr);
            entries.erase(number);
            throw invalid_argument("on_signal: signal " + std::to_string(number) +
                                   " cannot be handled: " + std::system_category().message(error));
        }
        return &added;
    }

    void uninstall(std::map<int, entry>::iterator place) noexcept {
        const int number = place->first;
        ::sigaction(number, &place->second.former, nullptr);
        graceful.fetch_and(~bit_of(number));
        owners[number].store(nullptr);
        while (under_way.load() != 0) {
            std::this_thread::yield();
        }
        mail.signals.fetch_and(~bit_of(number));
        entries.erase(place);
    }

    bool remove(int number) noexcept {
        const auto found = entries.find(number);
        if (found == entries.end() || found->second.given == nullptr) {
            return false;
        }
        if (found->second.of_run == nullptr) {
            uninstall(found);
        } else {
            found->second.given = nullptr;
            mail.signals.fetch_and(~bit_of(number));
            if (is_graceful(number)) {
                graceful.fetch_or(bit_of(number));
            }
        }
        return true;
    }

    void remove_of_run(int number) noexcept {
        const auto found = entries.find(number);
        if (found == entries.end() || found->second.of_run == nullptr) {
            return;
        }
        found->second.of_run = nullptr;
        if (found->second.given == nullptr) {
            uninstall(found);
        }
    }

    void install_for_run(int number, unique_function<void()> callback) {
        if (is_default(number)) {
            if (entry* added = install(number)) {
                added->of_run = std::make_shared<unique_function<void()>>(std::move(callback));
                if (is_graceful(number)) {
                    graceful.fetch_or(bit_of(number));
                }
            }
        }
    }

    static bool is_graceful(int number) noexcept { return number == SIGINT || number == SIGTERM; }

    inbox& mail;
    std::map<int, entry> entries;
};

void delete_signal_handlers::operator()(signal_handlers* handlers) const noexcept {
    delete handlers;
}

interrupt_watch::interrupt_watch(loop& at, fiber& main) : loop_(at), main_(main) {
    loop_state& state = at.state();
    if (!state.driver->wakes_from_signals()) {
        return;
    }
    inbox* nobody = nullptr;
    if (state.signal_use == signal_handling::graceful &&
        graceful_owner.compare_exchange_strong(nobody, state.mail.get())) {
        has_signals_ = true;
        first_signal.store(0);
        for (const int number : {SIGINT, SIGTERM}) {
            signal_handlers::of(at).install_for_run(number, [this, number] { take(number); });
        }
    }
    if (state.dump_on_sigusr1) {
        has_dump_ = true;
        signal_handlers::of(at).install_for_run(SIGUSR1, [&at] {
            std::fprintf(stderr, "weir: the tasks of process %d:\n%s", static_cast<int>(::getpid()),
                         at.dump_tasks().c_str());
        });
    }
}

interrupt_watch::~interrupt_watch() {
    loop_.disarm(*this);
    if (signal_handlers* handlers = loop_.state().signals.get()) {
        for (const int number : {SIGINT, SIGTERM}) {
            if (has_signals_) {
                handlers->remove_of_run(number);
            }
        }
        if (has_dump_) {
            handlers->remove_of_run(SIGUSR1);
        }
    }
    if (has_signals_) {
        graceful_owner.store(nullptr);
    }
}

void interrupt_watch::take(int number) noexcept {
    loop_state& state = loop_.state();
    if (main_.has(is_done)) {
        return;  // the shutdown is under way
    }
    signal_ = number;
    state.stopped_by = number;
    state.end_by = after(loop_.now(), state.shutdown_deadline);
    loop_.arm(*this, state.end_by);
    cancel_fiber(main_, number == SIGINT ? "SIGINT" : "SIGTERM");
}

void interrupt_watch::fire() noexcept {
    if (!main_.has(is_done)) {
        is_overdue_ = true;
        loop_.stop();
    }
}

bool interrupt_watch::ended_main() const noexcept {
    if (signal_ == 0) {
        return false;
    }
    return main_.has(is_done) ? main_.has(is_cancelled) && main_.cancel_count == 1 : is_overdue_;
}

bool interrupt_watch::came_too_late() const noexcept {
    return has_signals_ && signal_ == 0 && first_signal.load() != 0 && !main_.has(is_failed) &&
           !main_.has(is_cancelled);
}

std::exception_ptr interrupt_watch::error() const {
    return std::make_exception_ptr(interrupted(signal_ != 0 ? signal_ : first_signal.load()));
}

}  // namespace detail

void loop::on_signal(int number, detail::unique_function<void()> callback,
                     std::source_location where) {
    if (!callback) {
        throw invalid_argument("on_signal: the callback is empty");
    }
    if (state_->is_closed) {
        throw loop_error("on_signal: the loop is closed");
    }
    check_thread("on_signal");
    if (number < 1 || number > highest) {
        throw invalid_argument("on_signal: " + std::to_string(number) + " is no signal number");
    }
    if (!state_->driver->wakes_from_signals()) {
        throw invalid_state("on_signal: signals cannot wake the " +
                            std::string(state_->driver->name()) + " driver");
    }
    auto shared = std::make_shared<detail::unique_function<void()>>(std::move(callback));
    auto& handlers = detail::signal_handlers::of(*this);
    const auto found = handlers.entries.find(number);
    auto* entry = found != handlers.entries.end() ? &found->second : handlers.install(number);
    if (entry == nullptr) {
        const bool by_run = (graceful.load() & bit_of(number)) != 0;
        throw invalid_state("on_signal: another loop handles signal " + std::to_string(number) +
                            (by_run ? ", to end its run (loop_options::signals)" : ""));
    }
    graceful.fetch_and(~bit_of(number));
    entry->given = std::move(shared);
    entry->registered = where;
}

bool loop::remove_signal(int number) noexcept {
    return state_->signals != nullptr && state_->signals->remove(number);
}

// Looked up when its turn comes: one that was removed meanwhile is not called.
void loop::take_signals() noexcept {
    std::uint64_t arrived = state_->mail->signals.exchange(0);
    while (arrived != 0) {
        const int number = std::countr_zero(arrived) + 1;
        arrived &= arrived - 1;
        const auto found = state_->signals->entries.find(number);
        if (found == state_->signals->entries.end()) {
            continue;
        }
        auto run = [this, number] {
            const auto registered = state_->signals->entries.find(number);
            if (registered != state_->signals->entries.end()) {
                const auto& present = registered->second;
                const auto keep = present.given != nullptr ? present.given : present.of_run;
                (*keep)();
            }
        };
        push(*new detail::scheduled_call(*this, std::move(run), found->second.registered));
    }
}

}  // namespace weir
