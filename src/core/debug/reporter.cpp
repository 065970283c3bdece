// SPDX-License-Identifier: MIT
// Reports reach the handler with the task-local values of the task that they are about. If a
// handler throws, the report and the handler's error are printed.

#include "core/debug/reporter.hpp"

#include "core/debug/fiber_names.hpp"

#include <weir/detail/group_support.hpp>
#include <weir/error.hpp>
#include <weir/loop.hpp>

#include <cstdio>

namespace weir {

std::string_view to_string(report_kind kind) noexcept {
    switch (kind) {
        case report_kind::unretrieved_error:
            return "error never retrieved";
        case report_kind::callback_error:
            return "error in a callback";
        case report_kind::suppressed_error:
            return "error suppressed by another";
        case report_kind::slow_step:
            return "slow step";
        case report_kind::never_awaited:
            return "task never awaited";
        case report_kind::pending_destroyed:
            return "task destroyed while pending";
        case report_kind::deadlock:
            return "deadlock";
        case report_kind::unclosed_scope:
            return "task scope not closed";
        case report_kind::long_lease:
            return "long lease";
        case report_kind::shutdown:
            return "shutdown";
        case report_kind::dropped_stream:
            return "stream dropped";
    }
    return "report";
}

namespace detail {

namespace {

void print_report(const report& about) noexcept {
    const std::string_view kind = to_string(about.kind);
    std::fprintf(stderr, "weir: %.*s: %s%s%s\n", static_cast<int>(kind.size()), kind.data(),
                 about.message.c_str(), about.created.empty() ? "" : "\n  spawned at ",
                 about.created.c_str());
}

// The handler sees the task-local values of the reported task.
class context_of_source {
public:
    explicit context_of_source(const report& about) noexcept
        : running_(this_thread.running), context_(this_thread.callback_context) {
        if (about.source.valid()) {
            this_thread.running = nullptr;
            this_thread.callback_context = context_of(about.source.checked());
        }
    }
    context_of_source(const context_of_source&) = delete;
    context_of_source& operator=(const context_of_source&) = delete;
    ~context_of_source() {
        this_thread.running = running_;
        this_thread.callback_context = context_;
    }

private:
    fiber* running_;
    context_values* context_;
};

}  // namespace

void reporter::set_handler(report_handler handler) {
    handler_ = handler ? std::make_shared<report_handler>(std::move(handler)) : nullptr;
}

void reporter::tell(report about) noexcept {
    if (counts_failures_ && about.error != nullptr && about.kind != report_kind::suppressed_error) {
        ++failures_;
    }
    context_of_source values(about);
    if (about.source.valid() && about.created.empty()) {
        about.created = creation_site(about.source.checked());
    }
    const std::shared_ptr<report_handler> handler = handler_;
    if (handler == nullptr) {
        print_report(about);
        return;
    }
    try {
        (*handler)(about);
    } catch (...) {
        print_report(about);
        print_report({report_kind::callback_error,
                      "the report handler itself threw: " + describe(std::current_exception()),
                      std::current_exception(),
                      {},
                      {}});
    }
}

void report_unretrieved(fiber& failed) noexcept {
    const group_state& group = *failed.group;
    failed.raise(is_retrieved);
    const std::exception_ptr error = fiber_error(failed);
    const report about{report_kind::unretrieved_error,
                       "task " + fiber_name(failed) +
                           " failed, and nothing retrieved its error: " + describe(error),
                       error, any_handle(failed), creation_site(failed)};
    if (group.is_closed && group.is_root) {
        print_report(about);  // the loop and its handler are gone
    } else {
        static_cast<loop&>(*group.home).tell(about);
    }
}

}  // namespace detail
}  // namespace weir
