// SPDX-License-Identifier: MIT
// The connections of a database that the bodies around a task hold.
#pragma once

#include <weir/local.hpp>

#include <cstddef>
#include <memory>

namespace weir {
namespace detail {
class fiber;
}
namespace pg::detail {

class database_core;

// A connection that a transaction or a COPY has to itself while its body runs. Tasks that are
// started in the body are inside it, too.
class [[nodiscard]] connection_use {
public:
    explicit connection_use(const database_core* core);
    connection_use(const connection_use&) = delete;
    connection_use& operator=(const connection_use&) = delete;
    ~connection_use();

    // How many connections of the database the bodies around the task hold. When it is all of
    // them, the task would wait for itself.
    static std::size_t held_around(const weir::detail::fiber& task,
                                   const database_core* core) noexcept;
    static std::size_t held_around_current(const database_core* core) noexcept;

private:
    struct entry {
        const database_core* core;  // null: the body has ended
        std::shared_ptr<const entry> outer;
    };
    using enclosing = weir::local<std::shared_ptr<const entry>>;

    static enclosing& all() noexcept;
    static std::size_t count(const entry* innermost, const database_core* core) noexcept;

    std::shared_ptr<entry> own_;
    enclosing::scoped mark_;
};

}  // namespace pg::detail
}  // namespace weir
