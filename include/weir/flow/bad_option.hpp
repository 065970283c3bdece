// SPDX-License-Identifier: MIT
// Moved to src/base/option_checks.hpp.
#pragma once

#include "base/option_checks.hpp"
