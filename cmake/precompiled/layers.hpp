// SPDX-License-Identifier: MIT
// Precompiled for the layers above the core; see weir_unity.cmake. Sources still include what they
// use: project.files_compile_alone compiles them without this.
#pragma once

#include <weir/weir.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>
