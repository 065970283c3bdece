// SPDX-License-Identifier: MIT
// One task lives as long as the connection. Each of its turns reads what has come, hands the
// answers to who waits for them, and sends what was asked meanwhile; then it sleeps until the
// socket is ready or somebody asks. Those whom one turn has answered run before the next turn, so
// what they ask next goes out together.
//
// libpq is in pipeline mode, and each query has a sync of its own: it is a transaction of its own,
// and its failure ends with it. Answers come in the order of sending; all results up to a sync
// belong to the oldest entry. Only the sync says that it is done: a commit may fail after the rows
// have come.

#include "db/pg/session/session.hpp"

#include "db/pg/values/server_error.hpp"

#include <weir/awaitable.hpp>
#include <weir/db/pg/error.hpp>
#include <weir/error.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <libpq-fe.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstring>

namespace weir::pg::detail {

void clear_result::operator()(pg_result* held) const noexcept {
    PQclear(held);
}

session_settings::session_settings(const connect_options& options,
                                   std::shared_ptr<session_counts> into)
    : kept_statements(options.kept_statements),
      cancel_after(options.cancel_after),
      cancel_timeout(options.cancel_timeout),
      on_notice(options.on_notice),
      counts(std::move(into)) {}

// ---- waiting
// -----------------------------------------------------------------------------------------

// Until the socket is ready or somebody asks. A watch stays armed when something else ends the
// wait, so that a busy connection arms it once for each time that something has come.
class session::next_turn final : public operation {
public:
    explicit next_turn(session& of) noexcept : own_(of) {}

    bool ready() noexcept override { return own_.is_woken_; }
    bool start() noexcept override {
        try {
            if (!own_.is_alone_) {
                own_.arm(own_.reader_);
                if (own_.is_unflushed_) {
                    own_.arm(own_.writer_);
                }
            }
        } catch (...) {
            own_.lose("the socket cannot be watched");
            return false;
        }
        own_.waiting_ = this;
        return true;
    }
    bool cancel() noexcept override {
        own_.waiting_ = nullptr;
        return true;
    }
    const char* name() const noexcept override { return "pg.session"; }
    void resume() const noexcept {}
    void go_on() {
        own_.waiting_ = nullptr;
        complete();
    }

private:
    session& own_;
};

void session::watcher::fd_ready() noexcept {
    is_armed = false;
    if (direction == readiness::readable) {
        own.is_readable_ = true;
    }
    own.wake();
}

void session::arm(watcher& which) {
    if (!which.is_armed) {
        driver_->watch(descriptor_, which.direction, which);
        which.is_armed = true;
    }
}

void session::disarm(watcher& which) noexcept {
    if (which.is_armed) {
        driver_->unwatch(descriptor_, which.direction);
        which.is_armed = false;
    }
}

void session::wake() noexcept {
    is_woken_ = true;
    if (waiting_ != nullptr) {
        waiting_->go_on();
    }
}

// ---- its life
// ----------------------------------------------------------------------------------------

session::session(connection_ptr opened, session_settings settings)
    : settings_(std::move(settings)),
      connection_(std::move(opened)),
      descriptor_(PQsocket(connection_.get())),
      statements_(settings_.kept_statements),
      reader_(*this, readiness::readable),
      writer_(*this, readiness::writable) {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    is_tcp_ = getpeername(descriptor_, reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
              peer.ss_family != AF_UNIX;
    PQsetNoticeReceiver(connection_.get(), &session::notice, this);
}

session::~session() {
    end();
}

void session::start() {
    driver_ = dynamic_cast<fd_driver*>(&loop::current().get_driver());
    if (driver_ == nullptr) {
        throw loop_error("pg: the driver of this loop knows no descriptors");
    }
    if (PQsetnonblocking(connection_.get(), 1) != 0 ||
        PQenterPipelineMode(connection_.get()) != 1) {
        throw connection_failure(connection_.get(), "pg", db::retry_advice::yes);
    }
    running_ = spawn(run(shared_from_this()), {.name = "postgres"});
}

void session::close() noexcept {
    if (!is_ended_ && !is_lost_) {
        lose("it was closed");
        wake();
    }
}

task<> session::run(std::shared_ptr<session> own) {
    // However it ends, whoever waits is told.
    struct at_the_end {
        session& of;
        ~at_the_end() { of.end(); }
    };
    const at_the_end tells{*own};
    while (!own->is_lost_) {
        own->turn();
        if (!own->is_lost_) {
            co_await next_turn(*own);
        }
    }
}

void session::turn() {
    is_woken_ = false;
    has_answered_ = false;
    if (is_alone_) {
        return;
    }
    if (std::exchange(is_readable_, false)) {
        receive();
    }
    if (!is_lost_) {
        check_cancel();
        if (owner_ != nullptr) {
            owner_->has_room(*this);
        }
        send();
    }
    if (is_quiet_awaited_ && is_quiet()) {
        is_quiet_awaited_ = false;
        quiet_.set();
    }
}

void session::lose(std::string why) noexcept {
    if (!is_lost_) {
        is_lost_ = true;
        // One line of it.
        for (const char each : why) {
            const bool is_space = each == '\n' || each == '\t' || each == ' ';
            if (!is_space) {
                lost_why_ += each;
            } else if (!lost_why_.empty() && lost_why_.back() != ' ') {
                lost_why_ += ' ';
            }
        }
        while (!lost_why_.empty() && lost_why_.back() == ' ') {
            lost_why_.pop_back();
        }
    }
}

std::exception_ptr session::lost_error(bool was_sent) const noexcept {
    return std::make_exception_ptr(
        connection_error("pg: the connection to " + settings_.where +
                             " was lost: " + (lost_why_.empty() ? "the loop has ended" : lost_why_),
                         was_sent ? db::retry_advice::if_harmless : db::retry_advice::yes));
}

void session::end() noexcept {
    if (std::exchange(is_ended_, true)) {
        return;
    }
    disarm(reader_);
    disarm(writer_);
    const bool is_busy = !sent_.empty() || is_alone_broken_;
    settings_.counts->lost += sent_.size();
    for (sent_entry& each : sent_) {
        if (each.waiter != nullptr) {
            each.waiter->fail(each.failure != nullptr
                                  ? error_of(each.failure.get(), each.waiter->sql_)
                                  : lost_error(true));
        }
    }
    sent_.clear();
    behind_.clear();
    unsent_.prepend(again_);
    if (session_owner* const owner = std::exchange(owner_, nullptr)) {
        owner->was_lost(*this, unsent_);
    }
    while (query_call* const each = unsent_.pop_front()) {
        each->fail(lost_error(false));
    }
    quiet_.set();
    if (!is_alone_) {
        finish(is_busy);
    }
}

// ---- asking
// ------------------------------------------------------------------------------------------

bool session::enter(query_call& asked) noexcept {
    if (!is_open()) {
        asked.failure_ = lost_error(false);
        return false;
    }
    unsent_.push_back(asked);
    wake();
    return true;
}

void session::abandon(query_call& asked) noexcept {
    asked.entry_->waiter = nullptr;
    asked.entry_->is_abandoned = true;
    consider_cancel();
}

void session::send_behind(std::string command) {
    if (is_open()) {
        behind_.push_back(std::move(command));
        wake();
    }
}

bool session::is_in_transaction() const noexcept {
    return connection_ != nullptr && PQtransactionStatus(connection_.get()) != PQTRANS_IDLE;
}

task<> session::quiet(std::shared_ptr<session> own) {
    while (!own->is_ended_ && (!own->is_quiet() || own->is_alone_)) {
        own->is_quiet_awaited_ = true;
        own->quiet_.clear();
        own->wake();
        co_await own->quiet_.wait();
    }
}

// ---- alone
// -------------------------------------------------------------------------------------------

task<> session::begin_alone(std::shared_ptr<session> own) {
    co_await quiet(own);
    if (!own->is_open()) {
        std::rethrow_exception(own->lost_error(false));
    }
    own->is_alone_ = true;
    own->disarm(own->reader_);
    own->disarm(own->writer_);
    if (PQexitPipelineMode(own->connection_.get()) != 1) {
        own->end_alone(false);
        std::rethrow_exception(own->lost_error(false));
    }
}

void session::end_alone(bool is_good) noexcept {
    is_alone_ = false;
    if (is_ended_) {
        finish(!is_good);
        return;
    }
    if (!is_good) {
        is_alone_broken_ = true;
        lose("what ran alone on it was stopped");
    } else if (PQstatus(connection_.get()) != CONNECTION_OK ||
               PQenterPipelineMode(connection_.get()) != 1) {
        lose(PQerrorMessage(connection_.get()));
    }
    is_readable_ = true;  // perhaps; it was not watched
    quiet_.set();
    wake();
}

}  // namespace weir::pg::detail
