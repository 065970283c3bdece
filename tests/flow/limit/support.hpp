// SPDX-License-Identifier: MIT
// What the tests of the limiters share: the same as those of limits that processes share.
#pragma once

#include <support/limiter_properties.hpp>
