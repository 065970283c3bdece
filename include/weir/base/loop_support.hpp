// SPDX-License-Identifier: MIT
// What the parts of the runtime ask of the loop behind its back.
#pragma once

#include <weir/detail/fiber.hpp>

#include <source_location>
#include <string>

namespace weir::detail {

void report_unretrieved(fiber& failed) noexcept;
void schedule_callbacks(fiber& ended) noexcept;
std::uint64_t next_callback_number() noexcept;
void note_creation(fiber& fresh, const std::source_location& where);
std::string creation_site(const fiber& of);
std::string describe_place(const std::source_location& where);  // file:line
// A function's name as people write it, from what the compiler calls it.
std::string plain_function_name(const char* decorated);

// Something that lives on a loop and wants to be closed, asynchronously, before the loop is:
// generators.
struct closable {
    closable* previous = nullptr;
    closable* next = nullptr;
    loop_core* home = nullptr;                      // null: not registered
    virtual void close_at_shutdown() noexcept = 0;  // spawns what it needs into the root group

    void register_at(loop_core& loop) noexcept;
    void unregister() noexcept;

protected:
    ~closable() { unregister(); }
};

}  // namespace weir::detail
