// SPDX-License-Identifier: MIT
// The threads of one run_on_threads: which run, which have failed, which must be stopped.
#pragma once

#include <weir/awaitable.hpp>
#include <weir/base/mail.hpp>
#include <weir/base/to_task.hpp>
#include <weir/loop.hpp>
#include <weir/spawn.hpp>

#include <concepts>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir::detail {

template <class Main>
concept thread_main = starts_task<const std::remove_cvref_t<Main>&, std::size_t>;

// The function that runs on each thread.
class thread_body {
public:
    virtual task<void> start(std::size_t index) = 0;

protected:
    ~thread_body() = default;
};

// The main function that all threads share, and the result of each.
template <class Main>
class thread_mains final : public thread_body {
    using value = typename std::invoke_result_t<const Main&, std::size_t>::value_type;
    static constexpr bool has_values = !std::is_void_v<value>;
    struct nothing {};

public:
    thread_mains(std::size_t count, const Main& main) : main_(main) {
        if constexpr (has_values) {
            results_.resize(count);
        }
    }
    task<void> start(std::size_t index) override {
        if constexpr (has_values) {
            return keep_result(index);
        } else {
            return std::invoke(main_, index);
        }
    }
    auto take_results() {
        if constexpr (has_values) {
            std::vector<value> all;
            all.reserve(results_.size());
            for (std::optional<value>& each : results_) {
                all.push_back(std::move(*each));
            }
            return all;
        }
    }

private:
    task<void> keep_result(std::size_t index) {
        results_[index].emplace(co_await std::invoke(main_, index));
    }

    const Main& main_;
    std::conditional_t<has_values,
                       std::vector<std::optional<std::conditional_t<has_values, value, nothing>>>,
                       nothing>
        results_;
};

void check_thread_count(std::size_t count);

class thread_crew {
public:
    thread_crew(std::size_t count, thread_body& body);
    thread_crew(const thread_crew&) = delete;
    thread_crew& operator=(const thread_crew&) = delete;
    ~thread_crew();  // joins the threads

    // Blocks until all have ended; throws the first error or cancellation.
    void run_here(loop_options options, std::stop_token stop);
    // Throws the first error or cancellation, when all have ended.
    void check();

private:
    friend class crew_operation;
    struct member {
        std::shared_ptr<inbox> mail;  // while its main task runs
        any_handle main;              // on its thread only
    };
    class registration;
    static constexpr std::size_t nobody = static_cast<std::size_t>(-1);

    void start_threads(std::size_t first, const loop_options& like);
    void run_member(std::size_t index, loop_options options) noexcept;
    task<void> watched(std::size_t index);
    // Cancels all main tasks but one; from any thread, once.
    void cancel(std::string_view reason, std::size_t except = nobody) noexcept;
    bool note_error(const std::exception_ptr& error) noexcept;
    loop_options options_like(const loop_options& given);
    report_handler shared_handler();
    void member_ended() noexcept;
    // On the calling thread, when its own loop has ended first: signals still reach the others.
    void mind_signals(loop_options options) noexcept;
    task<void> others_ended();

    thread_body& body_;
    std::mutex mutex_;
    std::vector<member> members_;
    std::vector<std::thread> threads_;
    std::exception_ptr error_;         // the first
    std::exception_ptr cancellation_;  // thrown if there is no error
    bool is_cancelled_ = false;
    std::string reason_;
    std::size_t running_ = 0;
    class crew_operation* waiting_ = nullptr;
    std::recursive_mutex report_mutex_;  // a handler may cause another report
    report_handler on_report_;
};

// Waits until all threads of a crew have ended.
class WEIR_MUST_AWAIT crew_operation final : public operation, private mail_item {
public:
    crew_operation(thread_crew& crew, bool starts) noexcept : crew_(&crew), starts_(starts) {}
    crew_operation(crew_operation&& unawaited) noexcept
        : operation(), mail_item(), crew_(unawaited.crew_), starts_(unawaited.starts_) {}

    bool start() noexcept override;
    bool cancel() noexcept override;
    const char* name() const noexcept override { return "on_threads"; }
    void resume() const noexcept {}

private:
    friend class thread_crew;
    void arrive(loop& at) noexcept override;

    thread_crew* crew_;
    bool starts_;
    std::shared_ptr<inbox> mail_;
};

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif
template <class Main>
auto run_crew(std::size_t count, Main main)
    -> task<decltype(std::declval<thread_mains<Main>&>().take_results())> {
    thread_mains<Main> mains(count, main);
    thread_crew crew(count, mains);
    co_await crew_operation(crew, true);
    crew.check();
    co_return mains.take_results();
}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

}  // namespace weir::detail
