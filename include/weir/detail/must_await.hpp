// SPDX-License-Identifier: MIT
// The mark of awaitable classes: a call whose result is dropped is a warning that says what to do.
#pragma once

#define WEIR_MUST_AWAIT [[nodiscard("nothing happens until it is awaited: write co_await")]]
