// SPDX-License-Identifier: MIT
// The tasks are children of the loop's root group, so that the end of the loop stops and awaits
// them; a pool that ends earlier cancels them through their handles.

#include <weir/flow/detail/pool_tasks.hpp>
#include <weir/loop.hpp>

#include <algorithm>

namespace weir::detail {

bool pool_tasks::any() const noexcept {
    return std::any_of(std::begin(busy_), std::end(busy_),
                       [](std::size_t count) { return count > 0; });
}

void pool_tasks::launch(pool_job job, task<> work, std::uint32_t loop_id) noexcept {
    loop* here = loop::current_or_null();
    if (here == nullptr || here->id() != loop_id) {
        work.discard();
        return;
    }
    try {
        if (tasks_.size() == tasks_.capacity()) {
            std::erase_if(tasks_, [](const running_task& each) { return each.task.done(); });
            tasks_.reserve(std::max<std::size_t>(8, 2 * tasks_.size()));
        }
        tasks_.push_back(
            {here->spawn(std::move(work), {.name = {}, .start = start::later, .context = nullptr}),
             job});
    } catch (...) {  // out of memory, or the loop is closed: the destroyed task has reported back
    }
}

void pool_tasks::cancel(bool connects_only) noexcept {
    for (const running_task& each : tasks_) {
        if (!connects_only || each.job == pool_job::connecting) {
            each.task.cancel("the pool is closed");
        }
    }
}

}  // namespace weir::detail
