// SPDX-License-Identifier: MIT
// What the runtime tells people: reports through the one hook, names, and the watch on slow steps.

#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include <weir/detail/fiber_extras.hpp>
#include <weir/detail/group_support.hpp>
#include <weir/detail/loop_state.hpp>
#include <weir/error.hpp>
#include <weir/loop.hpp>

namespace weir {

std::string_view to_string(report_kind kind) noexcept {
    switch (kind) {
        case report_kind::unretrieved_error: return "error never retrieved";
        case report_kind::callback_error: return "error in a callback";
        case report_kind::suppressed_error: return "error suppressed by another";
        case report_kind::slow_step: return "slow step";
        case report_kind::never_awaited: return "task never awaited";
        case report_kind::pending_destroyed: return "task destroyed while pending";
        case report_kind::shutdown: return "shutdown";
    }
    return "report";
}

namespace {

void print_report(const report& about) noexcept {
    const std::string_view kind = to_string(about.kind);
    std::fprintf(stderr, "weir: %.*s: %s%s%s\n", static_cast<int>(kind.size()), kind.data(),
                 about.message.c_str(), about.created.empty() ? "" : "\n  spawned at ",
                 about.created.c_str());
}

// The handler sees the task-local values of the task it is told about.
class context_of_source {
public:
    explicit context_of_source(const report& about) noexcept
        : running_(detail::this_thread.running), context_(detail::this_thread.callback_context) {
        if (about.source.valid()) {
            const detail::fiber& source = about.source.checked();
            detail::this_thread.running = nullptr;
            detail::this_thread.callback_context =
                source.extras != nullptr ? source.extras->context : nullptr;
        }
    }
    context_of_source(const context_of_source&) = delete;
    context_of_source& operator=(const context_of_source&) = delete;
    ~context_of_source() {
        detail::this_thread.running = running_;
        detail::this_thread.callback_context = context_;
    }

private:
    detail::fiber* running_;
    detail::context_values* context_;
};

}  // namespace

void loop::on_report(report_handler handler) {
    state_->on_report = std::move(handler);
}

void loop::tell(report about) noexcept {
    context_of_source values(about);
    if (about.source.valid() && about.created.empty()) {
        about.created = detail::creation_site(about.source.checked());
    }
    if (!state_->on_report) {
        print_report(about);
        return;
    }
    try {
        state_->on_report(about);
    } catch (...) {
        print_report(about);
        print_report({report_kind::callback_error,
                      "the report handler itself threw: " + describe(std::current_exception()),
                      std::current_exception(), {}, {}});
    }
}

std::vector<any_handle> all_tasks() {
    return loop::current().all_tasks();
}

std::string dump_tasks() {
    return loop::current().dump_tasks();
}

any_handle current_task() noexcept {
    detail::fiber* running = detail::this_thread.running;
    return running != nullptr ? any_handle(*running) : any_handle();
}

void any_handle::set_name(std::string_view name) const {
    checked().extra().name = name;
}

// Debug mode only: the clock is read around every step.
void loop::step_watched(detail::fiber& ready) noexcept {
    any_handle keep(ready);
    const clock::time_point begin = now();
    step(ready, step_budget());
    const clock::duration held = now() - begin;
    if (held < state_->slow_step) {
        return;
    }
    std::string place;
    if (ready.top != nullptr && !ready.top->is_boundary()) {
        const auto& where = static_cast<detail::promise_base*>(ready.top)->here;
        place = ", until the await in " + detail::plain_function_name(where.function_name()) + " at " +
                where.file_name() + ":" + std::to_string(where.line());
    }
    tell({report_kind::slow_step,
          "task " + detail::fiber_name(ready) + " held the loop for " +
              std::to_string(held / std::chrono::milliseconds(1)) + " ms" + place,
          nullptr, keep, {}});
}

namespace detail {

void loop_core::check_thread_slow(const char* what) const {
    const auto& self = static_cast<const loop&>(*this);
    if (const_cast<loop&>(self).state().thread != std::this_thread::get_id()) {
        throw wrong_thread(std::string(what) +
                           ": called on a thread that does not run this loop; use loop.post or loop.submit");
    }
}

void report_unretrieved(fiber& failed) noexcept {
    group_state& group = *failed.group;
    if (group.is_closed && group.is_root) {
        return;  // the loop is gone; there is nobody to tell
    }
    // The fiber is being destroyed: the report must not outlive it.
    failed.references = 1;
    auto& home = static_cast<loop&>(*group.home);
    {
        const std::exception_ptr error = fiber_error(failed);
        failed.raise(is_retrieved);
        home.tell({report_kind::unretrieved_error,
                   "task " + fiber_name(failed) + " failed, and nobody asked: " + describe(error), error,
                   any_handle(failed), {}});
    }
}

void note_creation(fiber& fresh, const std::source_location& where) {
    fiber_extras& extras = fresh.extra();
    extras.created = where;
    extras.created_known = true;
    fiber_name(fresh);  // numbers follow the order of creation
}

std::string creation_site(const fiber& of) {
    if (of.extras == nullptr || !of.extras->created_known) {
        return {};
    }
    const std::source_location& where = of.extras->created;
    return std::string(where.file_name()) + ":" + std::to_string(where.line());
}

std::string fiber_name(fiber& of) {
    fiber_extras& extras = of.extra();
    if (!extras.name.empty()) {
        return extras.name;
    }
    if (extras.number == 0) {
        static std::atomic<std::uint64_t> last{0};
        extras.number = ++last;
    }
    return "task-" + std::to_string(extras.number);
}

// GCC calls a coroutine's body "R ns::f(ns::f(int)::_ZN2ns1fEi.Frame*)", clang "R ns::f(int)".
std::string plain_function_name(const char* decorated) {
    std::string text = decorated;
    if (const auto frame = text.rfind(".Frame*)"); frame != std::string::npos) {
        int depth = 0;
        for (std::size_t at = text.size(); at-- > 0;) {
            depth += text[at] == ')' ? 1 : text[at] == '(' ? -1 : 0;
            if (depth == 0 && text[at] == '(') {
                text.erase(at);
                break;
            }
        }
    }
    // The return type ends at the last space outside of any bracket, before the parameters.
    int depth = 0;
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char each = text[at];
        if (each == '(' && depth == 0 && at > begin && text.compare(at, 2, "()") != 0 &&
            text.compare(at, 11, "(anonymous ") != 0) {
            text.erase(at);
            break;
        }
        depth += each == '<' || each == '(' || each == '{' ? 1 : each == '>' || each == ')' || each == '}' ? -1 : 0;
        if (each == ' ' && depth == 0) {
            begin = at + 1;
        }
    }
    return text.substr(begin);
}

void discard_unawaited(promise_base& frame, std::coroutine_handle<> coroutine) noexcept {
    auto* current = static_cast<loop*>(this_thread.loop);
    if (current != nullptr && current->debug()) {
        // The frame begins with the address of the coroutine's body, which has a symbol.
        void* const body = *static_cast<void**>(coroutine.address());
        std::string name = "a coroutine";
        Dl_info found{};
        if (::dladdr(body, &found) != 0 && found.dli_sname != nullptr) {
            std::string symbol = found.dli_sname;
            symbol = symbol.substr(0, symbol.find(".actor"));
            int status = 0;
            char* readable = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
            name = status == 0 ? readable : symbol;
            std::free(readable);
        }
        current->tell({report_kind::never_awaited,
                       name + " was called, but the task was destroyed without being awaited or spawned",
                       nullptr, current_task(), {}});
    }
    (void)frame;
    coroutine.destroy();
}

void throw_nested_run() {
    throw loop_error("run: a loop is running on this thread already; co_await the task instead");
}
void throw_consumed_task() {
    throw invalid_state("the task was consumed already: a task can be awaited or spawned once");
}
void throw_cancelled(const fiber& ended) {
    throw cancelled(stop_reason(ended));
}
void throw_not_done(const fiber& unfinished, const char* what) {
    throw invalid_state(std::string(what) + " of task " + fiber_name(const_cast<fiber&>(unfinished)) +
                        ": it has not ended yet; co_await the handle");
}
void throw_empty_handle() {
    throw invalid_state("the handle is empty");
}
void throw_not_a_number() {
    throw invalid_argument("a duration is not a number (NaN)");
}

}  // namespace detail
}  // namespace weir
