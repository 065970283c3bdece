// SPDX-License-Identifier: MIT
// The exceptions of the library. A misuse is a std::logic_error, a failure at run time a
// std::runtime_error; cancellation is neither.
#pragma once

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace weir {

// Another fiber's cancellation, seen by a fiber that awaits it; and a fiber's own, inside
// catchable(). Not a std::exception, so that handlers for ordinary errors let it through. One that
// leaves a fiber ends it as cancelled.
class cancelled {
public:
    cancelled() = default;
    explicit cancelled(std::string_view reason, std::uint32_t origin = 0)
        : reason_(reason), origin_(origin) {}
    // The reason passed to cancel(); often empty.
    const std::string& reason() const noexcept { return reason_; }
    // For the library: the scope whose stop this stands for.
    std::uint32_t origin() const noexcept { return origin_; }

private:
    std::string reason_;
    std::uint32_t origin_ = 0;
};

// ---- misuse -------------------------------------------------------------------------------------

class misuse : public std::logic_error {
public:
    using std::logic_error::logic_error;
};
// An object was used in a state that does not allow it: a consumed task, a finished group, a
// promise set twice, a task that awaits itself.
class invalid_state : public misuse {
public:
    using misuse::misuse;
};
// An invalid value: a capacity of zero, a delay that is not a number.
class invalid_argument : public misuse {
public:
    using misuse::misuse;
};
// A loop was used wrongly: run inside run, closed, none running.
class loop_error : public misuse {
public:
    using misuse::misuse;
};
// Debug mode: something that belongs to a loop was used on another thread.
class wrong_thread : public misuse {
public:
    using misuse::misuse;
};

// ---- failures -----------------------------------------------------------------------------------

class timed_out : public std::runtime_error {
public:
    timed_out() : std::runtime_error("timed out") {}
    explicit timed_out(const std::string& what) : std::runtime_error(what) {}
};
// A promise was destroyed without being set.
class broken_promise : public std::runtime_error {
public:
    broken_promise() : std::runtime_error("the promise was destroyed before it was set") {}
};
// next() of a generator whose body was stopped: its stream has not come to its end.
class generator_stopped : public std::runtime_error {
public:
    generator_stopped()
        : std::runtime_error("the generator was stopped before it had come to its end") {}
};
// Simulated time: nothing is ready, no timer is armed, and the main task has not ended.
class deadlock : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};
// run: tasks did not end within the shutdown deadline. The message names them.
class shutdown_timeout : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};
// run_until: the loop was stopped before the task had ended.
class stopped_early : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// run: a signal has cancelled the main task. The work of run is not done.
class interrupted : public std::runtime_error {
public:
    explicit interrupted(int signal);
    int signal() const noexcept { return signal_; }  // SIGINT, SIGTERM

private:
    int signal_;
};

// Several errors, as groups throw them.
class error_group : public std::runtime_error {
public:
    explicit error_group(std::vector<std::exception_ptr> errors);

    const std::vector<std::exception_ptr>& errors() const noexcept { return errors_; }
    std::size_t size() const noexcept { return errors_.size(); }

    // The first error of the given type; nested groups are searched, and found only if Error is
    // error_group itself. Null if there is none. The pointer is valid as long as this object.
    template <class Error>
    const Error* find() const {
        for (const std::exception_ptr& each : errors_) {
            try {
                std::rethrow_exception(each);
            } catch (const error_group& nested) {
                if constexpr (std::is_same_v<Error, error_group>) {
                    return &nested;
                } else if (const Error* found = nested.find<Error>()) {
                    return found;
                }
            } catch (...) {
                if (const Error* found = current_as<Error>()) {
                    return found;
                }
            }
        }
        return nullptr;
    }
    template <class Error>
    bool contains() const {
        return find<Error>() != nullptr;
    }

private:
    // The exception being handled, if it is of the type.
    template <class Error>
    static const Error* current_as() {
        try {
            throw;
        } catch (const Error& found) {
            return &found;
        } catch (...) {
            return nullptr;
        }
    }

    std::vector<std::exception_ptr> errors_;
};

// The text of an error, for reports: what() where there is one.
std::string describe(const std::exception_ptr& error);

}  // namespace weir
