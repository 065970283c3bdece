// SPDX-License-Identifier: MIT
// Runs that reported progress since the last write are queued once, with their latest report. One
// call writes all of them, then a pause follows. A failed write is not repeated: the next report
// replaces it.

#include "service/engine/progress_writer.hpp"

#include "service/engine/secret_texts.hpp"
#include "service/store/store_texts.hpp"

namespace weir::service::detail {

using namespace std::chrono_literals;

namespace {
constexpr clock::duration pause_between_writes = 100ms;
}  // namespace

void run_progress::progressed(double fraction, std::string_view message) {
    fraction_ = fraction;
    // One byte more than is stored: storable_text() marks it as cut.
    message_ = task_ == nullptr || task_->secret.empty()
                   ? std::string(message.substr(0, max_message_bytes + 1))
                   : hidden_in(*task_, message).substr(0, max_message_bytes + 1);
    writer_->add(*this);
}

void run_progress::detach() noexcept {
    writer_->withdraw(*this);
    lease_ = nullptr;
}

void progress_writer::add(run_progress& changed) {
    if (!changed.is_queued_) {
        queued_.push_back(&changed);
        changed.is_queued_ = true;
        has_queued_.set();
    }
}

void progress_writer::withdraw(run_progress& ended) noexcept {
    if (std::exchange(ended.is_queued_, false)) {
        std::erase(queued_, &ended);
    }
}

task<> progress_writer::run() {
    for (;;) {
        has_queued_.clear();
        if (queued_.empty()) {
            co_await has_queued_.wait();
        }
        try {
            co_await write_queued();
        } catch (const std::exception&) {
            // The store_client has logged it.
        }
        co_await sleep(pause_between_writes);
    }
}

// Runs under a lost lease are left out; all others run under the same lease.
task<> progress_writer::write_queued() {
    std::vector<progress_note> notes;
    const lease* owner = nullptr;
    for (run_progress* const each : queued_) {
        each->is_queued_ = false;
        if (each->lease_ != nullptr && !each->lease_->is_lost) {
            owner = each->lease_;
            progress_note& note = notes.emplace_back();
            note.key = each->key_;
            note.progress = each->fraction_;
            note.message = storable_text(each->message_, max_message_bytes);
        }
    }
    queued_.clear();
    if (owner != nullptr) {
        co_await store_.call(store_->note_progress(owner->node(), std::move(notes), time_.now()));
    }
}

}  // namespace weir::service::detail
