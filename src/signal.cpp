// SPDX-License-Identifier: MIT
// Signals become callbacks. The handler sets a bit in the inbox of the loop that owns the signal
// and wakes its driver, which is all that is safe there; the loop looks at the bits at each turn. A
// loop that gives a signal up waits for handlers that are under way on other threads, since they
// hold its inbox.

#include <weir/detail/fiber_extras.hpp>
#include <weir/detail/interrupt_watch.hpp>
#include <weir/detail/loop_state.hpp>
#include <weir/error.hpp>
#include <weir/loop.hpp>

#include <bit>
#include <cerrno>
#include <csignal>
#include <map>
#include <system_error>
#include <thread>

namespace weir {

namespace {

constexpr int highest = 64;
std::atomic<detail::inbox*> owners[highest + 1];  // by signal number
std::atomic<int> under_way{0};

constexpr std::uint64_t bit_of(int number) noexcept {
    return std::uint64_t{1} << (number - 1);
}

extern "C" void weir_note_signal(int number) {
    const int former_errno = errno;
    under_way.fetch_add(1);
    if (detail::inbox* owner = owners[number].load()) {
        owner->signals.fetch_or(bit_of(number));
        owner->driver->wake();
    }
    under_way.fetch_sub(1);
    errno = former_errno;
}

}  // namespace

namespace detail {

struct signal_handlers {
    struct entry {
        std::shared_ptr<unique_function<void()>> callback;  // shared: it may remove itself
        std::source_location registered;
        struct sigaction former{};
    };

    explicit signal_handlers(inbox& at) noexcept : mail(at) {}
    signal_handlers(const signal_handlers&) = delete;
    signal_handlers& operator=(const signal_handlers&) = delete;
    ~signal_handlers() {
        while (!entries.empty()) {
            remove(entries.begin()->first);
        }
    }

    void install(int number, entry fresh) {
        inbox* nobody = nullptr;
        if (!owners[number].compare_exchange_strong(nobody, &mail)) {
            throw invalid_state("on_signal: another loop handles signal " + std::to_string(number));
        }
        entry& added = entries[number] = std::move(fresh);
        struct sigaction action{};
        action.sa_handler = weir_note_signal;
        action.sa_flags = SA_RESTART;
        ::sigemptyset(&action.sa_mask);
        if (::sigaction(number, &action, &added.former) != 0) {
            owners[number].store(nullptr);
            entries.erase(number);
            throw invalid_argument("on_signal: signal " + std::to_string(number) +
                                   " cannot be handled: " + std::system_category().message(errno));
        }
    }

    bool remove(int number) noexcept {
        const auto found = entries.find(number);
        if (found == entries.end()) {
            return false;
        }
        ::sigaction(number, &found->second.former, nullptr);
        owners[number].store(nullptr);
        while (under_way.load() != 0) {
            std::this_thread::yield();
        }
        mail.signals.fetch_and(~bit_of(number));
        entries.erase(found);
        return true;
    }

    inbox& mail;
    std::map<int, entry> entries;
};

void delete_signal_handlers::operator()(signal_handlers* handlers) const noexcept {
    delete handlers;
}

interrupt_watch::interrupt_watch(loop& at, fiber& main) : loop_(at), main_(main) {
    struct sigaction present{};
    if (!at.state().is_interruptible || !at.get_driver().wakes_from_signals() ||
        ::sigaction(SIGINT, nullptr, &present) != 0 || present.sa_handler != SIG_DFL) {
        return;  // somebody else has a use for it
    }
    at.on_signal(SIGINT, [this] {
        was_interrupted_ = true;
        loop_.remove_signal(SIGINT);  // a second one ends the program, as it would have
        cancel_fiber(main_, "interrupted");
    });
    is_installed_ = true;
}

interrupt_watch::~interrupt_watch() {
    if (is_installed_ && !was_interrupted_) {
        loop_.remove_signal(SIGINT);
    }
}

void interrupt_watch::check() const {
    if (was_interrupted_ && main_.has(is_cancelled) && main_.cancel_count == 1) {
        throw interrupted();
    }
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
    if (state_->signals == nullptr) {
        state_->signals.reset(new detail::signal_handlers(*state_->mail));
    }
    auto shared = std::make_shared<detail::unique_function<void()>>(std::move(callback));
    if (const auto found = state_->signals->entries.find(number);
        found != state_->signals->entries.end()) {
        found->second.callback = std::move(shared);
        found->second.registered = where;
    } else {
        state_->signals->install(number, {std::move(shared), where, {}});
    }
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
                const auto keep = registered->second.callback;
                (*keep)();
            }
        };
        push(*new detail::scheduled_call(*this, std::move(run), found->second.registered));
    }
}

void loop::set_interruptible(bool on) noexcept {
    state_->is_interruptible = on;
}

}  // namespace weir
