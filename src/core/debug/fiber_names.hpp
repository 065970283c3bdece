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
// The await of the innermost coroutine on the stack that is the user's own; of a fiber that has
// none, the place where it was spawned. Empty outside fibers.
std::source_location calling_place();
// That place as a part of a sentence: " by f, after file:line"; empty if it is unknown.
std::string describe_caller();
// Debug mode: remembers where the fiber was spawned: the place, if it is the user's, or else the
// place of the user's await that the library works for.
void note_creation(fiber& fresh, const std::source_location& where);
// file:line of the spawn; empty if it is unknown.
std::string creation_site(const fiber& spawned);

}  // namespace weir::detail
