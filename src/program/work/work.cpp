// SPDX-License-Identifier: MIT
// weir work: a program as a worker of the service. A signal lets running programs end, for a while;
// then their tasks are returned to the service. A second signal ends the process at once, and its
// programs with it: the service finds out when the lease has ended.

#include "program/command_line/commands.hpp"
#include "program/output/program_name.hpp"
#include "program/output/text.hpp"
#include "program/work/work_session.hpp"

#include <weir/cancel.hpp>
#include <weir/error.hpp>
#include <weir/finally.hpp>
#include <weir/outcome.hpp>
#include <weir/run.hpp>
#include <weir/spawn.hpp>
#include <weir/timeout.hpp>

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>

namespace weir::program {

namespace {

using namespace std::chrono_literals;

constexpr clock::duration release_limit = 5s;

std::string machine_name() {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0) {
        return "weir work";
    }
    return std::string(name.data()).substr(0, 100);
}

clock::duration work_seconds(double seconds) {
    return std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds));
}

work_options options_of(const work_settings& settings) {
    work_options options;
    options.kind = settings.kind;
    options.name = settings.name.empty() ? machine_name() : settings.name;
    options.queues = settings.queues;
    options.concurrency = settings.concurrency;
    options.program.words = settings.program;
    options.program.reports_progress = settings.reports_progress;
    options.program.max_output = settings.max_output;
    options.program.grace = work_seconds(settings.grace);
    options.log = [](const std::string& line) { print_error(shown(line, 1000)); };
    return options;
}

task<> ended(const handle<void>& working) {
    co_await working.wait();
}

task<> work_until_stopped(work_session& session, clock::duration drain) {
    const handle<void> working = spawn(session.run());
    auto finish = [&working]() -> task<> {
        working.cancel();
        co_await working.wait();
    };
    auto work = [&]() -> task<> {
        outcome<> stop = co_await intercept(ended(working));
        if (working.done()) {
            co_await working;  // its error, if it has one
            co_return;
        }
        session.drain();
        auto drained = timeout_or(drain, ended(working), unit{});
        static_cast<void>(co_await intercept(std::move(drained)));
        session.release_all();
        auto released = timeout_or(release_limit, ended(working), unit{});
        co_await shield(std::move(released));
        co_await std::move(stop);
    };
    co_await finally(work(), finish);
}

task<int> work(const work_settings& settings) {
    start_process_guard();
    remote service(settings.to);
    ::unsetenv("WEIR_TOKEN");  // programs must not see it
    work_session session(service, options_of(settings));
    co_await work_until_stopped(session, work_seconds(settings.drain));
    co_return 0;
}

}  // namespace

void add_options(options& to, work_settings& settings) {
    to.text({"kind", "KIND", "Kind of tasks to run", "", false, true}, settings.kind);
    to.texts({"program", "PROGRAM", "Program and its arguments, after --", "", true, true},
             settings.program);
    add_options(to, settings.to);
    to.number({"-j,--concurrency", "COUNT", "Programs that run at the same time", "1"},
              settings.concurrency, 1, 10'000);
    to.texts({"-q,--queue", "NAME", "Only tasks of this queue; can be repeated", ""},
             settings.queues);
    to.text({"--name", "NAME", "Name of this worker in lists; default: that of the machine", ""},
            settings.name);
    to.flag({"--progress", "",
             "Lines 'progress 0.5 MESSAGE' of standard error are progress of the task", ""},
            settings.reports_progress);
    to.number({"--max-output", "BYTES", "Output that a result may have", "1048576"},
              settings.max_output, 1, 1e9);
    to.number({"--grace", "SECONDS", "Time that stopped programs have before they are killed", "5"},
              settings.grace, 0, 3600);
    to.number({"--drain", "SECONDS", "Time that running programs have to finish on a signal", "25"},
              settings.drain, 0, 366 * 24 * 3600);
}

int run_work(const work_settings& settings) {
    loop_options options;
    options.shutdown_deadline = work_seconds(settings.drain + settings.grace) + 15s;
    return weir::run_main(work(settings), std::move(options));
}

}  // namespace weir::program
