// SPDX-License-Identifier: MIT
// live_move: moves the store behind a gate to another database, while calls come.
#pragma once

#include "service/store/move/move_marks.hpp"
#include "service/store/move/row_copier.hpp"
#include "service/store/move/store_gate.hpp"

#include <weir/service/store_mover.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weir::service::detail {

struct live_move_plan {
    std::string from;
    std::string to;
    std::string from_schema;  // of PostgreSQL
    sqlite_store_options sqlite;
    postgres_store_options postgres;  // of the target
    std::function<void(std::string_view)> log;

    bool is_from_postgres() const noexcept { return is_postgres_url(from); }
    bool is_to_postgres() const noexcept { return is_postgres_url(to); }
    std::string notes_schema() const { return is_from_postgres() ? from_schema : std::string(); }
};

// On request, in place of what came to its end.
class move_aborted : public std::exception {};

class live_move {
public:
    // All must outlive it. `state` is kept up to date; `is_aborted` is looked at between steps.
    live_move(store_gate& gate, const live_move_plan& plan, store_move_state& state,
              const bool& is_aborted)
        : gate_(gate),
          plan_(plan),
          state_(state),
          is_aborted_(is_aborted),
          notes_(plan.notes_schema()) {}

    // Opens the target; then it has to be closed.
    task<> open();
    // Throws store_unavailable if the move cannot begin. Counts what there is to move.
    task<move_report> check();
    // The whole move, or what is left of it. After it was complete, the gate has the target. Throws
    // store_unavailable, after which it may be called again, and move_aborted.
    task<> run();
    // The source is as before.
    task<> abandon();
    task<> close();

private:
    task<> begin();
    task<> empty_target();
    task<> copy_tables();
    task<> follow_changes();
    task<> compare_tables();
    task<> switch_over();
    task<> raise_fence();
    task<> end_in_target();
    task<> end_or_undo(std::exception_ptr failure);
    task<bool> has_arrived();
    task<> lower_fence();
    task<> finish();
    task<std::vector<std::uint64_t>> count_notes();  // by table
    void check_aborted() const;
    task<> pause_after(clock::time_point begun);

    store_gate& gate_;
    const live_move_plan& plan_;
    store_move_state& state_;
    const bool& is_aborted_;
    change_notes notes_;
    std::shared_ptr<sql_backend> from_;
    std::shared_ptr<sql_backend> to_;
    std::vector<table_layout> tables_;
    move_mark source_;
    move_mark target_;
    bool may_be_fenced_ = false;
    bool may_be_committed_ = false;  // the transaction that ends the move
    bool has_ended_ = false;
};

// Decides where a store is whose process ended while it was moving itself, by the marks of both.
struct resolved_store {
    std::shared_ptr<sql_backend> backend;  // of the store that is to be served
    std::string database;
    std::string schema;
    std::optional<move_target> next;  // a move to it is to be continued
};
task<resolved_store> resolve_store(std::string database, const movable_store_options& options);

}  // namespace weir::service::detail
