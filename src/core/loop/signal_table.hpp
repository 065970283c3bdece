// SPDX-License-Identifier: MIT
// The signals that a loop handles.
#pragma once

#include "core/loop/inbox.hpp"

#include <weir/base/unique_function.hpp>
#include <weir/loop.hpp>

#include <csignal>
#include <cstdint>
#include <map>
#include <memory>
#include <source_location>

namespace weir::detail {

// A signal belongs to one loop of the process at a time. It may have two callbacks there: the one
// that the user registered, and the one of the run, which is called if there is no other.
class signal_table {
public:
    using function = unique_function<void()>;

    signal_table(loop& home, inbox& mail) noexcept : home_(home), mail_(mail) {}
    signal_table(const signal_table&) = delete;
    signal_table& operator=(const signal_table&) = delete;
    ~signal_table() { close(); }

    // Throws invalid_argument for a number that is no signal or cannot be handled, invalid_state if
    // another loop has the signal or the driver cannot be woken by signals.
    void set(int number, function callback, std::source_location where);
    // False if there was no registration. Restores the signal's previous action.
    bool remove(int number) noexcept;
    void close() noexcept;

    // For a run: handles the signal if nothing else in the process does. The second SIGINT or
    // SIGTERM ends the process from the signal handler itself.
    void set_for_run(int number, function callback);
    void remove_for_run(int number) noexcept;
    // Makes this the one loop of the process whose run ends by signals. False if another one is.
    bool claim_process() noexcept;
    static void release_process() noexcept;
    // The SIGINT or SIGTERM that came first during the present run; 0 if none did.
    static int first_signal() noexcept;

    // Signals have arrived, a bit for each: queues their callbacks.
    void queue_callbacks(std::uint64_t arrived) noexcept;

private:
    using shared_function = std::shared_ptr<function>;  // shared: it may remove itself
    struct entry {
        shared_function of_user;
        shared_function of_run;
        std::source_location registered;
        struct sigaction former{};
    };

    entry* install(int number);
    void uninstall(std::map<int, entry>::iterator place) noexcept;
    void call(int number);

    loop& home_;
    inbox& mail_;
    std::map<int, entry> entries_;
};

}  // namespace weir::detail
