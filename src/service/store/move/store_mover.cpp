// SPDX-License-Identifier: MIT
// One move at a time. What a database that cannot be reached has interrupted is tried again until
// it works or is aborted; what cannot succeed is undone.

#include "service/store/move/live_move.hpp"
#include "service/store/sqlite/sql_store.hpp"

#include <weir/error.hpp>
#include <weir/finally.hpp>
#include <weir/loop.hpp>
#include <weir/service/store_mover.hpp>
#include <weir/time.hpp>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

namespace weir::service {

namespace {

using namespace std::chrono_literals;
using detail::live_move;
using detail::live_move_plan;
using detail::store_gate;
using phase = store_move_state::phase;

class gate_mover final : public store_mover {
public:
    gate_mover(store_gate& gate, detail::resolved_store at, movable_store_options options)
        : gate_(gate),
          database_(std::move(at.database)),
          schema_(std::move(at.schema)),
          options_(std::move(options)) {
        state_.database = shown_store(absolute(database_));
        if (at.next.has_value()) {
            start(at.next->database,
                  at.next->schema.empty() ? options_.postgres.schema : at.next->schema);
            has_begun_ = true;
        }
    }

    void begin(std::string to, std::string schema) override {
        if (wanted_.has_value()) {
            throw invalid_state("the store is being moved already, to " + state_.to);
        }
        check_kind(to);
        start(absolute(std::move(to)), std::move(schema));
    }

    task<move_report> check(std::string to, std::string schema) override {
        check_kind(to);
        const live_move_plan plan = plan_for(absolute(std::move(to)), std::move(schema));
        store_move_state ignored;
        const bool never = false;
        live_move move(gate_, plan, ignored, never);
        auto look = [&move]() -> task<move_report> {
            co_await move.open();
            move_report report = co_await move.check();
            co_return report;
        };
        auto close = [&move] { return move.close(); };
        move_report report = co_await finally(look(), close);
        co_return report;
    }

    void abort() override {
        if (!wanted_.has_value()) {
            throw invalid_state("the store is not being moved");
        }
        if (state_.what == phase::switching) {
            throw invalid_state("the store is switching to its new database: ask again");
        }
        is_aborted_ = true;
        wake_.set();
    }

    store_move_state state() const override { return state_; }

    task<> run() override {
        for (;;) {
            co_await wake_.wait();
            wake_.clear();
            if (wanted_.has_value()) {
                co_await perform();
                wanted_.reset();
            }
        }
    }

private:
    void start(std::string to, std::string schema) {
        state_ = {};
        state_.what = phase::copying;
        state_.database = shown_store(absolute(database_));
        state_.from = state_.database;
        state_.to = shown_store(to);
        is_aborted_ = false;
        has_begun_ = false;
        wanted_ = plan_for(std::move(to), std::move(schema));
        wake_.set();
    }

    void check_kind(const std::string& to) const {
        if (to.empty()) {
            throw invalid_argument("the target is empty; it must be a file or a postgres:// URL");
        }
        if (is_postgres_url(to) == is_postgres_url(database_)) {
            throw invalid_argument(
                "the store " + state_.database + " cannot be moved to " + shown_store(to) +
                ": one of them must be a file, the other one the URL of a PostgreSQL database");
        }
    }

    static std::string absolute(std::string database) {
        return is_postgres_url(database) ? database : std::filesystem::absolute(database).string();
    }

    live_move_plan plan_for(std::string to, std::string schema) const {
        live_move_plan plan;
        plan.from = database_;
        plan.to = std::move(to);
        plan.from_schema = schema_;
        plan.sqlite = options_.sqlite;
        plan.postgres = options_.postgres;
        plan.postgres.schema = std::move(schema);
        plan.log = [this](std::string_view line) { note(line); };
        return plan;
    }

    // Until it has ended, one way or the other.
    task<> perform() {
        note("the store is being moved to " + state_.to);
        clock::duration pause = 500ms;
        bool has_ended = false;
        while (!has_ended) {
            has_ended = co_await attempt();
            if (!has_ended) {
                wake_.clear();
                cancel_scope limit(weir::now() + pause);
                auto wait = [this]() -> task<> { co_await wake_.wait(); };
                static_cast<void>(co_await limit.run(wait()));
                pause = std::min<clock::duration>(2 * pause, 5s);
            }
        }
    }

    // False: to be tried again.
    task<bool> attempt() {
        live_move move(gate_, *wanted_, state_, is_aborted_);
        auto work = [&move, this]() -> task<> {
            if (is_aborted_) {
                throw detail::move_aborted();
            }
            co_await move.open();
            has_begun_ = true;
            co_await move.run();
        };
        auto close = [&move] { return move.close(); };
        std::string problem;
        phase end = phase::moved;
        try {
            co_await finally(work(), close);
        } catch (const detail::move_aborted&) {
            end = phase::aborted;
        } catch (const store_unavailable& error) {
            problem = error.what();
            end =
                has_begun_ && error.advice() != db::retry_advice::no ? phase::none : phase::failed;
        } catch (const std::exception& error) {
            problem = error.what();
            end = phase::failed;
        }
        if (end == phase::none) {
            if (state_.error != problem) {
                note("the move waits: " + problem);
            }
            state_.error = problem;
            co_return false;
        }
        if (end == phase::moved) {
            database_ = wanted_->to;
            state_.database = shown_store(database_);
            schema_ = wanted_->postgres.schema;
            state_.what = end;
            state_.error.clear();
            note("the store was moved to " + state_.to + "; writes waited " +
                 std::to_string(
                     std::chrono::duration_cast<std::chrono::milliseconds>(state_.held).count()) +
                 " ms");
            co_return true;
        }
        const bool is_undone = co_await undo(move, problem);
        if (is_undone) {
            state_.what = end;
            state_.error = problem;
            note(end == phase::aborted ? "the move was aborted"
                                       : "the move has failed: " + problem);
        }
        co_return is_undone;
    }

    task<bool> undo(live_move& move, std::string& problem) {
        std::string failure;
        try {
            co_await move.abandon();
        } catch (const db::error& error) {
            failure = error.what();
        }
        if (!failure.empty()) {
            is_aborted_ = true;
            state_.error = problem.empty() ? failure : problem + "; " + failure;
        }
        co_return failure.empty();
    }

    void note(std::string_view line) const {
        if (options_.log) {
            options_.log(line);
        }
    }

    store_gate& gate_;
    std::string database_;
    std::string schema_;
    movable_store_options options_;
    store_move_state state_;
    std::optional<live_move_plan> wanted_;
    bool is_aborted_ = false;
    bool has_begun_ = false;  // a target that cannot be reached then is waited for
    event wake_;
};

}  // namespace

std::string_view to_string(store_move_state::phase what) noexcept {
    constexpr std::string_view names[] = {"none",      "copying", "following", "comparing",
                                          "switching", "moved",   "failed",    "aborted"};
    return names[static_cast<std::size_t>(what)];
}

std::string shown_store(const std::string& database) {
    if (!is_postgres_url(database)) {
        return database;
    }
    std::string shown = database.substr(0, database.find('?'));  // parameters may have a password
    const std::size_t begin = shown.find("://") + 3;
    const std::size_t at = shown.find('@', begin);
    const std::size_t colon = shown.find(':', begin);
    if (at != std::string::npos && colon < at) {
        shown.replace(colon + 1, at - colon - 1, "***");
    }
    return shown;
}

task<movable_store> open_movable_store(std::string database, movable_store_options options) {
    detail::resolved_store at = co_await detail::resolve_store(std::move(database), options);
    const std::size_t max_queues =
        is_postgres_url(at.database) ? options.postgres.max_queues : options.sqlite.max_queues;
    auto gate = std::make_unique<store_gate>(at.backend);
    store_gate& gated = *gate;
    movable_store opened;
    opened.tasks = detail::make_sql_store(std::move(gate), max_queues);
    opened.mover = std::make_unique<gate_mover>(gated, std::move(at), std::move(options));
    co_return opened;
}

}  // namespace weir::service
