// SPDX-License-Identifier: MIT
// The components of a loop.
#pragma once

#include "core/debug/reporter.hpp"
#include "core/loop/inbox.hpp"
#include "core/loop/scheduler.hpp"
#include "core/loop/service_registry.hpp"
#include "core/loop/shutdown_sequence.hpp"
#include "core/loop/signal_table.hpp"

#include <weir/loop.hpp>

#include <cstdint>
#include <memory>

namespace weir::detail {

struct loop_state {
    loop_state(loop& home, ready_queue& ready, std::unique_ptr<weir::driver> own,
               const loop_options& options)
        : mail(std::make_shared<inbox>(std::move(own))),
          signals(home, *mail),
          turns(home, ready, *mail, signals, options.slow_step),
          shutdown(home, turns, options.shutdown_deadline),
          signal_use(options.signals),
          dump_on_sigusr1(options.dump_on_sigusr1.value_or(false)) {}

    std::shared_ptr<inbox> mail;
    reporter reports;
    service_registry services;
    signal_table signals;
    scheduler turns;
    shutdown_sequence shutdown;

    const signal_handling signal_use;
    const bool dump_on_sigusr1;
    std::uint64_t seeds = 0;  // given out so far
    bool is_running = false;
    bool is_closed = false;
};

}  // namespace weir::detail
