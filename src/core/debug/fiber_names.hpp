// SPDX-License-Identifier: MIT
// What a fiber is called, and where it was spawned.
#pragma once

#include "base/fiber_namer.hpp"

#include <source_location>
#include <string>

namespace weir::detail {

// Has all fiber_namers of this thread name their fibers.
void call_fiber_namers();
// The present name: the fiber's own, or a generated one. Does not call the fiber_namers.
std::string known_fiber_name(fiber& named);
// Debug mode: remembers where the fiber was spawned.
void note_creation(fiber& fresh, const std::source_location& where);
// file:line of the spawn; empty if it is unknown.
std::string creation_site(const fiber& spawned);

}  // namespace weir::detail
