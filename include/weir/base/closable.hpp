// SPDX-License-Identifier: MIT
// Objects that live on a loop and need asynchronous clean-up before the loop closes: generators,
// pools.
#pragma once

#include <weir/base/intrusive_list.hpp>
#include <weir/detail/loop_core.hpp>

namespace weir::detail {

struct closable : private list_link<struct closable_tag> {
    loop_core* home = nullptr;  // null: not registered

    // Spawns the clean-up into the root group. The object is not registered any more.
    virtual void close_at_shutdown() noexcept = 0;
    // Unregisters the object, since its loop ends. `closes`: close_at_shutdown() follows; otherwise
    // the loop cannot run anything any more.
    virtual void leave_at_shutdown([[maybe_unused]] bool closes) noexcept { unregister(); }

    void register_at(loop_core& at) noexcept;
    void unregister() noexcept;

protected:
    ~closable() { unregister(); }

private:
    friend class intrusive_list<closable, closable_tag>;
};

}  // namespace weir::detail
