// SPDX-License-Identifier: MIT
// Shared by the tests of limiters, and by those of limits that processes share.
#pragma once

#include <support/limiter_properties.hpp>
