// SPDX-License-Identifier: MIT
// batcher: collects single calls and sends them together.
//
//     weir::batcher<user_id, user> users({.size = 100, .linger = 5ms}, load_users);
//     user found = co_await users.call(id);     // one of many in SELECT ... WHERE id IN (...)
//
// load_users takes a vector of items and returns a task of as many results in the same order, or of
// as many outcomes if single items can fail. Each caller gets the result of its item. If the
// function throws, all callers of that batch get the error; a wrong number of results is an error
// (invalid_state) for all of them. For a batcher<Item, void> the function returns task<void>.
//
// A batch is sent when `size` items wait, or when the first of them has waited for `linger`,
// whichever is earlier, as long as fewer than `concurrency` batches are in flight. Items are sent
// in the order of the calls. At most `capacity` items wait: further calls are refused at once
// (queue_full).
//
// Stopping a caller withdraws its item if it has not been sent; otherwise the result is dropped and
// the batch continues for the other callers. close() refuses new calls, sends the waiting items,
// and returns when all calls have their results. Destroying the batcher stops the batches; calls
// that still wait throw invalid_state.
#pragma once

#include <weir/base/unique_function.hpp>
#include <weir/flow/detail/batcher_core.hpp>
#include <weir/flow/stream_source.hpp>
#include <weir/spawn.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace weir {

template <class Item, class Result>
class batcher {
    class state;
    class call_operation;
    class settle_operation;

public:
    // The batcher owns the function. Invalid options throw invalid_argument.
    template <class Function>
        requires std::is_invocable_v<Function&, std::vector<Item>>
    batcher(const batcher_options& options, Function function)
        : state_(std::make_shared<state>(options, std::move(function))) {}
    batcher(const batcher&) = delete;
    batcher& operator=(const batcher&) = delete;
    ~batcher() { state_->abandon(); }

    // co_await call(item): this item's result. Throws the item's error, or refused.
    call_operation call(Item item) { return call_operation(*state_, std::move(item)); }
    // co_await settle(item): the same as an outcome.
    settle_operation settle(Item item) { return settle_operation(*state_, std::move(item)); }

    // Sends the items that wait now without further lingering.
    void flush() { state_->flush(); }
    // co_await close(): refuses new calls and waits for the results of all others. May be called
    // again.
    task<void> close() { return close_shared(state_); }

    batcher_stats stats() const noexcept { return state_->stats(); }
    void write_metrics(metric_writer& writer) const { state_->write_metrics(writer); }

private:
    using answer = outcome<Result>;

    class operation_base : public detail::batch_operation {
    protected:
        operation_base(detail::batcher_core& core, Item&& item)
            : detail::batch_operation(core), item_(std::move(item)) {}
        operation_base(operation_base&& other)
            : detail::batch_operation(std::move(other)), item_(std::move(other.item_)) {}
        ~operation_base() = default;

        answer take() {
            switch (this->checked_state()) {
                case detail::batch_wait::refused:
                    return answer::from_refusal(this->stored_refusal());
                case detail::batch_wait::cancelled:
                    return answer::from_cancellation("the batch was cancelled");
                default:
                    return std::move(*answer_);
            }
        }

    private:
        friend class batcher::state;
        Item item_;
        std::optional<answer> answer_;
    };
    class WEIR_MUST_AWAIT call_operation final : public operation_base {
    public:
        call_operation(detail::batcher_core& core, Item&& item)
            : operation_base(core, std::move(item)) {}
        Result resume() { return this->take().value(); }
    };
    class WEIR_MUST_AWAIT settle_operation final : public operation_base {
    public:
        settle_operation(detail::batcher_core& core, Item&& item)
            : operation_base(core, std::move(item)) {}
        answer resume() { return this->take(); }
    };

    // Outlives the batcher until its last batch has ended.
    class state final : public detail::batcher_core, public std::enable_shared_from_this<state> {
    public:
        template <class Function>
        state(const batcher_options& options, Function&& function)
            : detail::batcher_core(options),
              function_([owned = std::move(function)](std::vector<Item> items) mutable {
                  return run(owned, std::move(items));
              }) {}

    private:
        using answers = std::vector<answer>;

        any_handle send(std::size_t count) override {
            detail::sent_batch batch(this->shared_from_this());
            std::vector<Item> items;
            items.reserve(count);
            for (std::size_t index = 0; index < count; ++index) {
                items.push_back(std::move(static_cast<operation_base&>(batch.take()).item_));
            }
            return weir::spawn(work(std::move(batch), std::move(items)),
                               {.name = name(), .start = weir::start::later});
        }

        static task<void> work(detail::sent_batch batch, std::vector<Item> items) {
            state& self = static_cast<state&>(batch.core());
            const std::size_t count = items.size();
            outcome<answers> ended = co_await weir::settle(self.function_(std::move(items)));
            if (ended && ended.value().size() != count) {
                ended = outcome<answers>::from_error(wrong_count(ended.value().size(), count));
            }
            if (!ended) {
                self.note_failure();
            }
            for (std::size_t index = 0; index < count; ++index) {
                auto* const caller = static_cast<operation_base*>(batch.caller(index));
                if (caller != nullptr) {
                    caller->answer_.emplace(ended ? std::move(ended.value()[index])
                                                  : same_failure(ended));
                    batch.mark_answered(index);
                }
            }
        }
        static answer same_failure(const outcome<answers>& failed) {
            if (failed.is_refused()) {
                return answer::from_refusal(failed.refusal());
            }
            return failed.is_cancelled() ? answer::from_cancellation(failed.reason())
                                         : answer::from_error(failed.stored_error());
        }
        // Calls the function; its results as outcomes.
        template <class Function>
        static task<answers> run(Function& function, std::vector<Item> items) {
            using returned = std::invoke_result_t<Function&, std::vector<Item>>;
            static_assert(detail::awaitable<returned>, "the function of a batcher returns a task");
            answers made;
            const std::size_t count = items.size();
            made.reserve(count);
            if constexpr (std::is_void_v<Result>) {
                co_await std::invoke(function, std::move(items));
                for (std::size_t index = 0; index < count; ++index) {
                    made.push_back(answer::from_value());
                }
            } else {
                auto results = co_await std::invoke(function, std::move(items));
                for (auto&& each : results) {
                    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(each)>, answer>) {
                        made.push_back(std::move(each));
                    } else {
                        made.push_back(answer::from_value(std::move(each)));
                    }
                }
            }
            co_return made;
        }

        detail::unique_function<task<answers>(std::vector<Item>)> function_;
    };

    static task<void> close_shared(std::shared_ptr<state> shared) { co_await shared->close(); }

    std::shared_ptr<state> state_;
};

}  // namespace weir
