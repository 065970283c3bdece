// SPDX-License-Identifier: MIT
// What a token allows: permissions, each in some queues or in all.
//
// The scopes of a token are a list: 'read,submit@mail,admin@reports/*'. A scope is a word, and
// after '@' the queues that it is for: a name, or the beginning of names and '*'. Without '@' it is
// for all queues.
//
//   read     tasks, queues and schedules, their counts and their events
//   submit   new tasks; and the status of a task by its id
//   admin    everything, in its queues
//   metrics  /metrics alone
//   worker   takes and settles tasks: 'worker:resize,thumb@images' those of two kinds in one queue,
//            'worker@images' those of all kinds. Kinds may end in '*', as queues may.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::http {
class request;
}

namespace weir::service::detail {

// What a route needs. `any`: a valid token. `status`: one task by its id, which read and submit
// allow.
enum class permission : unsigned char { any, status, read, submit, admin, metrics, worker };
inline constexpr std::size_t permission_count = 7;

// A set of queues, or of kinds, given by names and beginnings of names.
class queue_patterns {
public:
    // Throws invalid_argument unless it is a name or a beginning and one '*' at its end.
    void add(std::string_view pattern);
    void add(const queue_patterns& other);

    bool matches(std::string_view queue) const noexcept;
    bool is_all() const noexcept;
    bool empty() const noexcept { return all_.empty(); }
    // The names, if the set has no beginnings of names.
    std::optional<std::vector<std::string>> names() const;
    // The queue, if the set is one name.
    std::optional<std::string> single() const;
    // The same text for the same patterns.
    std::string text() const;

private:
    std::vector<std::string> all_;  // sorted, without repetition
};

class access_rights {
public:
    // Nothing but `any`.
    access_rights() = default;
    // Everything if the list is empty. Throws invalid_argument that names the scope.
    static access_rights parse(std::string_view scopes);

    bool may(permission what, std::string_view queue) const noexcept {
        return queues(what).matches(queue);
    }
    bool may_somewhere(permission what) const noexcept { return !queues(what).empty(); }
    bool may_everywhere(permission what) const noexcept { return queues(what).is_all(); }
    const queue_patterns& queues(permission what) const noexcept {
        return queues_[static_cast<std::size_t>(what)];
    }
    // The queues whose tasks of this kind a worker may take.
    queue_patterns worker_queues(std::string_view kind) const;

private:
    struct worker_scope {
        queue_patterns kinds;
        queue_patterns queues;
    };

    // Takes one scope, 'worker' or 'worker:KIND,KIND@QUEUE', from the list.
    void take_worker_scope(std::string_view& scopes);
    queue_patterns& at(permission what) noexcept { return queues_[static_cast<std::size_t>(what)]; }

    std::array<queue_patterns, permission_count> queues_;
    std::vector<worker_scope> workers_;
};

// A token, without its secret.
struct token_grant {
    token_grant() = default;

    std::string name;  // for the log and for messages
    access_rights rights;
    bool is_revoked = false;  // the tokens were replaced, and it is not among the new ones
};

// The grant of the request's token; null if the service has no tokens, or the route needs none.
std::shared_ptr<const token_grant> grant_of(const http::request& request);

// Throws http::detailed_problem (403) that names the missing scope. Without a queue: the permission
// is needed in all queues, or, with `is_somewhere`, in any.
[[noreturn]] void throw_missing_scope(const token_grant& grant, permission what,
                                      std::string_view queue);
[[noreturn]] void throw_missing_scope(const token_grant& grant, permission what,
                                      bool is_somewhere = false);
// Does nothing without a grant, or where it allows that.
void require(const std::shared_ptr<const token_grant>& grant, permission what,
             std::string_view queue);
// True without a grant, or where it allows that.
bool allows(const std::shared_ptr<const token_grant>& grant, permission what,
            std::string_view queue) noexcept;
bool allows_everywhere(const std::shared_ptr<const token_grant>& grant, permission what) noexcept;

// Throws http::detailed_problem (403) unless a worker may take tasks of this kind in the queue;
// without a queue, in all.
void require_worker(const std::shared_ptr<const token_grant>& grant, std::string_view kind,
                    std::string_view queue = {});

// 'read', or 'read@mail'.
std::string scope_text(permission what, std::string_view queue = {});

}  // namespace weir::service::detail
