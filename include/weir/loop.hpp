// SPDX-License-Identifier: MIT
// The event loop: one thread, a queue of what is ready, timers, and a driver that waits for the
// rest. Most programs never name it: weir::run makes one.
#pragma once

#include <weir/base/unique_function.hpp>
#include <weir/clock.hpp>
#include <weir/detail/loop_core.hpp>
#include <weir/driver.hpp>
#include <weir/handle.hpp>
#include <weir/report.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

namespace weir {

class context;

namespace detail {
class timer;
struct loop_state;
struct scheduled_call;
struct posted_call;
struct inbox;
// Posts to a loop that may be gone: false when it is closed, and the callback is destroyed.
bool post_to(const std::shared_ptr<inbox>& mail, unique_function<void()> callback);
}  // namespace detail

// automatic: the driver of make_default_driver(), io_uring in programs that use weir::io where the
// kernel allows it, else epoll, unless the environment variable WEIR_DRIVER names one. A driver
// that is named and not available is a loop_error.
enum class driver_kind : unsigned char { automatic, simulated, epoll, uring };

// How run handles the signals that request a program's end.
enum class signal_handling : unsigned char {
    // The first SIGINT or SIGTERM cancels the main task; run then waits for clean-up until the
    // shutdown deadline, which counts from the signal, and throws interrupted. A second one ends
    // the process at once. Signals that the program handles or ignores itself are left alone, as
    // are all of them when another loop of the process has them or the driver is simulated.
    graceful,
    none,
};

struct loop_options {
    driver_kind driver = driver_kind::automatic;
    std::optional<bool> debug{};  // default: the environment variable WEIR_DEBUG
    clock::duration slow_step =
        std::chrono::milliseconds(100);  // debug: limit for holding the loop
    clock::duration shutdown_deadline =
        std::chrono::seconds(10);  // how long run waits for clean-up
    std::uint64_t seed = 0;        // not 0: ready tasks run in an order drawn from it
    report_handler on_report{};
    signal_handling signals = signal_handling::graceful;
    // run: SIGUSR1 prints the tree of tasks to standard error. Default: in run_main only.
    std::optional<bool> dump_on_sigusr1{};
};

enum class start : unsigned char {
    by_default,  // as the loop says: normally later
    later,       // the first step is taken on a later turn of the loop
    eager,       // runs now, up to its first suspension
};

// Trivially destructible, so that it may be written inside a co_await expression.
struct spawn_options {
    std::string_view name{};
    weir::start start = weir::start::by_default;
    const weir::context* context = nullptr;  // share these task-local values instead of a snapshot
};

// A callback that was scheduled with call_soon, call_later or call_at.
class callback_handle {
public:
    callback_handle() noexcept = default;
    explicit callback_handle(detail::scheduled_call& owned) noexcept : call_(&owned) {}
    callback_handle(const callback_handle& other) noexcept;
    callback_handle& operator=(callback_handle other) noexcept {
        std::swap(call_, other.call_);
        return *this;
    }
    ~callback_handle();

    // It will not run, and what it holds is released now. Harmless when it has run.
    void cancel() noexcept;
    bool cancelled() const noexcept;
    clock::time_point when() const noexcept;

private:
    detail::scheduled_call* call_ = nullptr;
};

// A callback that was posted; usable on any thread.
class post_handle {
public:
    post_handle() noexcept = default;
    explicit post_handle(std::shared_ptr<detail::posted_call> call) noexcept
        : call_(std::move(call)) {}
    // True if it had not begun, and now never will. If it is running on another thread, this
    // blocks until it has ended: afterwards what it uses may be destroyed, whatever the answer. So
    // do not hold a lock that the callback takes. Called by the callback itself, this returns at
    // once.
    bool cancel() noexcept;
    // Was it cancelled? Blocks as cancel() does while it is running.
    bool cancelled() const noexcept;

private:
    std::shared_ptr<detail::posted_call> call_;
};

// An object that belongs to a loop and is shared by all its tasks: see loop::service.
class loop_service {
public:
    loop_service() noexcept = default;
    loop_service(const loop_service&) = delete;
    loop_service& operator=(const loop_service&) = delete;
    virtual ~loop_service() = default;
};
namespace detail {
template <class T>
inline constinit char service_key = 0;
}

class loop final : public detail::loop_core {
public:
    explicit loop(loop_options options = {});
    explicit loop(std::unique_ptr<driver> custom, loop_options options = {});
    ~loop();

    // The loop that runs on this thread. Throws loop_error if there is none.
    static loop& current();
    static loop* current_or_null() noexcept;

    // Runs until the task has ended, then stops and awaits everything else, and closes.
    template <class T>
    T run(task<T> main);
    // Runs until the task has ended, and no longer. Throws stopped_early if stop() comes first; the
    // task can then be run further by handing its handle to run_until again. As with co_await, the
    // value is copied out of a handle, and moved out of one that is moved in.
    template <class T>
    T run_until(task<T> main);
    template <class T>
    T run_until(const handle<T>& main);
    template <class T>
    T run_until(handle<T>&& main);
    void run_forever();
    // Tasks that are ready now still run; work queued from now on waits for the next run. Before
    // run: makes it do one turn without waiting.
    void stop() noexcept;
    // Ends all tasks and closes.
    void shutdown();
    void close();
    bool is_running() const noexcept;
    bool is_closed() const noexcept;

    // Guest mode: Weir inside the event loop of another library. Poll when the descriptor is
    // readable or the deadline has come; poll() never waits and returns whether it wants to be
    // called again at once. Ask for the deadline after each poll(), and whenever other code on the
    // loop's thread has used the loop: after a spawn, a cancel, the close of a socket. The deadline
    // is now() if poll() has something to do already, nothing if only the descriptor can tell.
    // Posts of other threads and signals make the descriptor readable, from the loop's beginning.
    int fd() const noexcept;
    std::optional<clock::time_point> next_deadline() noexcept;
    bool poll();

    clock::time_point now() noexcept;
    // Callbacks run on later turns, never inside these calls, in the order of their time and then
    // of their registration. Zero and negative delays are overdue: they run at the next turn.
    callback_handle call_soon(detail::unique_function<void()> callback,
                              std::source_location where = std::source_location::current());
    template <class Rep, class Period>
    callback_handle call_later(std::chrono::duration<Rep, Period> delay,
                               detail::unique_function<void()> callback,
                               std::source_location where = std::source_location::current()) {
        return call_at(detail::after(now(), detail::to_nanoseconds(delay)), std::move(callback),
                       where);
    }
    callback_handle call_at(clock::time_point when, detail::unique_function<void()> callback,
                            std::source_location where = std::source_location::current());
    // From any thread. The callbacks of one thread keep their order.
    post_handle post(detail::unique_function<void()> callback,
                     std::source_location where = std::source_location::current());
    // From any thread: starts fn(args...), which makes a task, on the loop, and gives a
    // submission<T> to wait for it with. Defined in <weir/submit.hpp>.
    template <class Callable, class... Args>
    auto submit(Callable&& callable, Args&&... args);

    template <class T>
    handle<T> spawn(task<T>&& work, const spawn_options& options = {},
                    std::source_location where = std::source_location::current()) {
        return handle<T>(
            detail::start_fiber(root(), std::move(work), start_options(options, where)));
    }
    std::vector<any_handle> all_tasks();
    std::string dump_tasks();

    // Calls back on the loop's thread when the signal arrives; a second registration replaces the
    // first. One loop of the process at a time can have a signal. Throws invalid_argument for what
    // is no signal or cannot be caught, invalid_state if another loop has it or the driver is
    // simulated.
    void on_signal(int number, detail::unique_function<void()> callback,
                   std::source_location where = std::source_location::current());
    // Restores what the signal did before, such as to end a run; false if there was no
    // registration.
    bool remove_signal(int number) noexcept;

    void on_report(report_handler handler);  // an empty one restores the default: standard error
    void tell(report about) noexcept;
    void set_debug(bool on) noexcept;
    void set_slow_step(clock::duration limit) noexcept;
    void set_eager(bool on) noexcept { eager_ = on; }  // the default of spawn
    driver& get_driver() noexcept;
    // A number to seed a random source with, another one each time; in simulated time the same
    // ones in every run.
    std::uint64_t fresh_seed() noexcept;

    // The loop's own object of this class, made as T(loop) on first use and destroyed
    // when the loop closes, after all tasks; T derives from loop_service.
    template <class T>
    T& service() {
        loop_service* found = find_service(&detail::service_key<T>);
        if (found == nullptr) {
            found = &add_service(&detail::service_key<T>, std::make_unique<T>(*this));
        }
        return static_cast<T&>(*found);
    }

    // For operations.
    void arm(detail::timer& timer, clock::time_point when) noexcept;
    void disarm(detail::timer& timer) noexcept;
    // Something outside will post later: simulated time waits for it instead of calling it a
    // deadlock.
    void expect_post() noexcept;
    void expected_post_came() noexcept;
    // For what posts from other threads and may outlive the loop: see detail::post_to.
    std::shared_ptr<detail::inbox> mail() const noexcept;
    detail::loop_state& state() noexcept { return *state_; }

private:
    loop_service* find_service(const void* key) const;
    loop_service& add_service(const void* key, std::unique_ptr<loop_service> made);
    detail::start_options start_options(const spawn_options& options,
                                        const std::source_location& where);
    void check_can_run() const;
    void run_until_done(detail::fiber& main);
    void run_and_shut_down(detail::fiber& main);
    bool run_turns(const detail::fiber* main);
    void abandon_tasks() noexcept;
    void release_everything() noexcept;

    std::unique_ptr<detail::loop_state> state_;
};

// The time of the running loop: real, or simulated.
inline clock::time_point now() {
    return loop::current().now();
}
namespace detail {
[[noreturn]] void throw_nested_run();
}
// loop.on_signal of the running loop.
inline void on_signal(int number, detail::unique_function<void()> callback,
                      std::source_location where = std::source_location::current()) {
    loop::current().on_signal(number, std::move(callback), where);
}
// All unfinished tasks of the running loop.
std::vector<any_handle> all_tasks();
// The tree of tasks with the stack of awaits of each, for people.
std::string dump_tasks();

namespace detail {
// The value of a finished task, moved out; or a throw.
template <class T>
T take_result(const handle<T>& ended) {
    if constexpr (std::is_void_v<T> || std::is_reference_v<T>) {
        return ended.result();
    } else {
        ended.result();  // throws what it ended with
        return std::move(ended.box().value());
    }
}
}  // namespace detail

template <class T>
T loop::run_until(const handle<T>& main) {
    run_until_done(main.checked());
    return main.result();
}
template <class T>
T loop::run_until(handle<T>&& main) {
    run_until_done(main.checked());
    return detail::take_result(main);
}

template <class T>
T loop::run_until(task<T> main) {
    try {
        check_can_run();
    } catch (...) {
        main.discard();
        throw;
    }
    return run_until(spawn(std::move(main)));
}

template <class T>
T loop::run(task<T> main) {
    try {
        check_can_run();
    } catch (...) {
        main.discard();
        throw;
    }
    const handle<T> started = spawn(std::move(main));
    run_and_shut_down(started.checked());
    return detail::take_result(started);
}

}  // namespace weir
